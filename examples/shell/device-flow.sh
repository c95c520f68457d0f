#!/usr/bin/env bash
# The device flow with curl: asks for a code, shows it, waits for the decision and prints the token set to standard output.
# Ends with 0 when granted, 2 when rejected, 3 when the code has run out, 1 for anything else. Needs bash, curl and sed; no jq: what is
# read here are digits and plain words. To read more of an answer, use one.
set -euo pipefail
: "${LATCHKEY_BASE_URL:=http://localhost:8080}" "${LATCHKEY_APP_ID:?is not set}" "${LATCHKEY_APP_SECRET:?is not set}"
key="$(date +%s)-$$-$RANDOM$RANDOM" # With the same key, an outcome whose answer was lost is given again.

post() { # Through standard input: the secret is in no list of processes.
  printf 'SVCappid=%s&SVCsecret=%s&%s' "$LATCHKEY_APP_ID" "$LATCHKEY_APP_SECRET" "$2" |
    curl -sS --max-time 30 -H "Idempotency-Key: $key" -d @- "$LATCHKEY_BASE_URL/auth/oauth/device/$1"
}
field() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p" <<<"$2"; }
end() { echo "$2" >&2 && exit "$1"; }

record=$(post code state=shell) || end 1 "The service cannot be reached."
device_code=$(field device_code "$record")
[ -n "$device_code" ] || end 1 "There is no code: $record"
interval=$(field interval "$record")
echo "Your code is $(field user_code "$record" | sed -E 's/[0-9]{3}/& /g')- enter it at $LATCHKEY_BASE_URL/activate" >&2

give_up=$((SECONDS + $(field expires_in "$record") + 60)) # The service says when it has run out; this is for one that is gone.
while [ "$SECONDS" -lt "$give_up" ]; do
  sleep "$interval"
  answer=$(post polling "device_code=$device_code") || { sleep "$interval" && continue; }
  [ -z "$(field access_token "$answer")" ] || { printf '%s\n' "$answer" && exit 0; }
  case "$(field error "$answer")" in
    slow_down) interval=$((interval + 5)) ;;
    auth_rejected) end 2 "You said no, and that is fine." ;;
    auth_expired) end 3 "The code has run out. Start again for a new one." ;;
    invalid) end 1 "$answer" ;;
    *) ;; # Pending; or nothing that this service says of a code, and something on the way is in trouble.
  esac
done
end 1 "The service cannot be reached."
