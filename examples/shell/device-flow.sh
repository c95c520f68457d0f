#!/usr/bin/env bash
# The device flow with curl: requests a code, shows it, waits for the decision and prints the token set to standard output.
# Exit status: 0 granted, 2 rejected, 3 expired, 1 any other error. Needs bash, curl and sed. sed is sufficient for the plain values that
# are read here; use jq to read other fields.
set -euo pipefail
: "${LATCHKEY_BASE_URL:=http://localhost:8080}" "${LATCHKEY_APP_ID:?is not set}" "${LATCHKEY_APP_SECRET:?is not set}"
key="$(date +%s)-$$-$RANDOM$RANDOM" # With the same key, an outcome whose response was lost is returned again.

post() { # The form goes through standard input, so that the secret is not in the process list.
  printf 'SVCappid=%s&SVCsecret=%s&%s' "$LATCHKEY_APP_ID" "$LATCHKEY_APP_SECRET" "$2" |
    curl -sS --max-time 30 -H "Idempotency-Key: $key" -H "Prefer: wait=25" -d @- "$LATCHKEY_BASE_URL/auth/oauth/device/$1"
}
field() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p" <<<"$2"; }
end() { echo "$2" >&2 && exit "$1"; }

record=$(post code state=shell) || end 1 "The service cannot be reached."
device_code=$(field device_code "$record")
[ -n "$device_code" ] || end 1 "There is no code: $record"
interval=$(field interval "$record")
echo "Your code is $(field user_code "$record" | sed -E 's/[0-9]{3}/& /g')- enter it at $LATCHKEY_BASE_URL/activate" >&2

give_up=$((SECONDS + $(field expires_in "$record") + 60)) # The service reports expiry; this limit applies if it is unreachable.
while [ "$SECONDS" -lt "$give_up" ]; do # The service answers a poll when the user decides, or after 25 seconds.
  sent=$SECONDS
  answer=$(post polling "device_code=$device_code") || { sleep "$interval" && continue; }
  [ -z "$(field access_token "$answer")" ] || { printf '%s\n' "$answer" && exit 0; }
  case "$(field error "$answer")" in
    slow_down) interval=$((interval + 5)) ;;
    auth_rejected) end 2 "The request was rejected." ;;
    auth_expired) end 3 "The code has expired. Start again for a new one." ;;
    invalid) end 1 "$answer" ;;
    *) ;; # Pending, or an unexpected response, for example from a proxy.
  esac
  [ $((SECONDS - sent)) -gt "$interval" ] || sleep "$interval" # Polls are an interval apart; a held one lasted longer.
done
end 1 "The service cannot be reached."
