#!/usr/bin/env python3
"""The device flow with Python's standard library: requests a code, shows it, waits for the decision, prints the token set.

Exit status: 0 granted, 2 rejected, 3 expired, 1 any other error.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BASE_URL = os.environ.get("LATCHKEY_BASE_URL", "http://localhost:8080")
APPLICATION = {"SVCappid": os.environ["LATCHKEY_APP_ID"], "SVCsecret": os.environ["LATCHKEY_APP_SECRET"]}


def post(path, headers, **form):
    """Returns the JSON body, also of error responses. Raises OSError or ValueError if there is none."""
    body = urllib.parse.urlencode({**APPLICATION, **form}).encode()
    request = urllib.request.Request(BASE_URL + path, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)
    except urllib.error.HTTPError as refusal:
        return json.load(refusal)


def wait(record):
    """Polls until there is a final outcome. The service answers a poll when the user decides, or after 25 seconds."""
    interval = record["interval"]
    # With the same key, an outcome whose response was lost is returned again.
    headers = {"Idempotency-Key": str(uuid.uuid4()), "Prefer": "wait=25"}
    # The service reports expiry; this limit applies if the service is unreachable.
    give_up = time.monotonic() + record["expires_in"] + 60
    pause = 0
    while time.monotonic() < give_up:
        time.sleep(pause)
        sent = time.monotonic()
        try:
            answer = post("/auth/oauth/device/polling", headers, device_code=record["device_code"])
        except (OSError, ValueError):
            pause = min(max(pause, interval) * 2, 60)
            continue
        error = answer.get("error")
        if error == "slow_down":
            interval += 5
        elif error in ("auth_expired", "auth_rejected", "invalid") or "access_token" in answer:
            return answer
        # Pending, or an unexpected response, for example from a proxy. Polls are an interval apart; a held one lasted longer.
        pause = 0 if time.monotonic() - sent > interval else interval
    return {"error": "unavailable", "message": "The service cannot be reached."}


def main():
    try:
        record = post("/auth/oauth/device/code", {}, state="python")
    except (OSError, ValueError) as trouble:
        sys.exit(f"{BASE_URL} cannot be reached: {trouble}")
    if "error" in record:
        sys.exit(f"There is no code: {record['message']}")
    digits = record["user_code"]
    grouped = " ".join(digits[at : at + 3] for at in range(0, len(digits), 3))
    print(f"Your code is {grouped} - enter it at {BASE_URL}/activate", file=sys.stderr)

    answer = wait(record)
    if "error" not in answer:
        print(json.dumps(answer))
        return 0
    print(answer["message"], file=sys.stderr)
    return {"auth_rejected": 2, "auth_expired": 3}.get(answer["error"], 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
