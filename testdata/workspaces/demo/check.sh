# Checks greet.sh.
failed=0

expect() {
  got=$(sh greet.sh "$1" "$2")
  if [ "$got" = "$3" ]; then
    echo "ok    $1 at $2: $got"
  else
    echo "WRONG $1 at $2: got '$got', expected '$3'"
    failed=1
  fi
}

expect Ada 9 "Good morning, Ada!"
expect Grace 15 "Good afternoon, Grace!"
expect Edsger 22 "Good evening, Edsger!"
exit $failed
