# This file gives scripts named, timed steps and a summary at the end. Source it.

steps_names=()
steps_results=()
steps_failed=0
steps_failed_before=0

# step NAME COMMAND... runs a command under a heading, shows its output as it comes, and remembers how it ended.
step() {
  local name=$1 start=$SECONDS status=0
  steps_failed_before=$steps_failed
  shift
  printf '\n==> %s\n' "$name"
  "$@" || status=$?
  steps_names+=("$name")
  if [ "$status" -eq 0 ]; then
    steps_results+=("ok      $((SECONDS - start))s")
  else
    steps_results+=("FAILED  $((SECONDS - start))s (exit status $status)")
    steps_failed=1
  fi
  return "$status"
}

# step_on_shared NAME COMMAND [AGAIN] is step for tests of real processes. On the shared machines of CI, those that ran out of
# patience get a second run, by AGAIN where one is given; the summary says which needed it, and that is to be looked into. What
# fails twice has failed.
step_on_shared() {
  step "$1" "$2" && return
  [ -n "${CI:-}" ] || return 1
  local last=$((${#steps_names[@]} - 1)) before=$steps_failed_before # the first run has set steps_failed
  step "$1, second run" "${3:-$2}" || return 1
  steps_results[last]="UNSTABLE, passed at its second run"
  steps_failed=$before
}

# summary prints how every step ended; its status is 1 when one failed.
summary() {
  local i
  printf '\n'
  for i in "${!steps_names[@]}"; do
    printf '%-44s %s\n' "${steps_names[$i]}" "${steps_results[$i]}"
  done
  printf '%-44s %ss\n' total "$SECONDS"
  return "$steps_failed"
}

# say tells what happens now, in bold on a terminal.
say() {
  if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    printf '\033[1m%s\033[0m\n' "$*"
  else
    printf '%s\n' "$*"
  fi
}

# die tells why nothing more can be done.
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}
