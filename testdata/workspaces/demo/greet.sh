# Greets NAME at HOUR (0 to 23).
name=${1:-stranger}
hour=${2:-12}

if [ "$hour" -lt 12 ]; then
  greeting="Good morning"
elif [ "$hour" -lt 18 ]; then
  greeting="Good afternoon"
else
  greeting="Good evening"
fi
echo "$greeting, $name!"
