"""An application in Python, written with requests-oauthlib as its manual says. It knows the issuer and nothing of our pages.

It speaks with the test line by line, in JSON: it says what a person should open ({"dialog": …}, {"device": …}) and reads
where the browser came back to; at the end it says what it got ({"done": …}).
"""

import json
import sys
import time

import requests
from oauthlib.oauth2 import DeviceClient, OAuth2Error, WebApplicationClient
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session


def say(what):
    print(json.dumps(what), flush=True)
    return json.loads(sys.stdin.readline() or "null")


given = json.loads(sys.stdin.readline())
method, client_id, secret = given["method"], given["client_id"], given["client_secret"]
redirect_uri, scope = given["redirect_uri"], given["scope"]
server = requests.get(given["issuer"] + "/.well-known/oauth-authorization-server").json()
me = given["issuer"] + "/1/me"

# How it proves who it is, in the terms of fetch_token and of a plain request.
proofs = {
    "client_secret_post": (
        {"include_client_id": True, "client_secret": secret},
        {"data": {"client_id": client_id, "client_secret": secret}},
    ),
    "client_secret_basic": ({"client_secret": secret}, {"auth": HTTPBasicAuth(client_id, secret)}),
    "none": ({"include_client_id": True}, {"data": {"client_id": client_id}}),
}
fetching, plain = proofs[method]


def post(url, **form):
    return requests.post(url, auth=plain.get("auth"), data={**plain.get("data", {}), **form})


def authorize():
    client = WebApplicationClient(client_id)
    verifier = client.create_code_verifier(64)
    challenge = client.create_code_challenge(verifier, "S256")
    session = OAuth2Session(client=client, scope=scope, redirect_uri=redirect_uri)
    address, _ = session.authorization_url(
        server["authorization_endpoint"], code_challenge=challenge, code_challenge_method="S256"
    )
    returned = say({"dialog": address})
    # The library compares the state.
    token = session.fetch_token(
        server["token_endpoint"], authorization_response=returned, code_verifier=verifier, **fetching
    )
    return session, dict(token)


def refresh_by_itself(token):
    """A session that finds its token expired renews it before it asks."""
    kept = []
    session = OAuth2Session(
        client_id,
        token={**token, "expires_at": time.time() - 30},
        scope=scope,
        auto_refresh_url=server["token_endpoint"],
        auto_refresh_kwargs=plain.get("data", {}),
        token_updater=kept.append,
    )
    basic = {"client_id": client_id, "client_secret": secret} if method == "client_secret_basic" else {}
    answer = session.get(me, **basic)
    return answer.status_code, [dict(each) for each in kept]


def introspect(text):
    """As an API does that was shown a token."""
    by = HTTPBasicAuth(*given["resource_server"])
    return requests.post(server["introspection_endpoint"], auth=by, data={"token": text}).json()


def connect_device():
    asked = post(server["device_authorization_endpoint"], scope=" ".join(scope)).json()
    session = OAuth2Session(client=DeviceClient(client_id))
    heard = []
    while len(heard) < 10:
        try:
            token = session.fetch_token(server["token_endpoint"], device_code=asked["device_code"], **fetching)
            return asked, heard, dict(token), session.get(me).json()
        except OAuth2Error as error:
            heard.append(error.error)
            if error.error != "authorization_pending":
                raise
            if len(heard) == 1:
                say({"device": asked})
            time.sleep(asked["interval"])


session, token = authorize()
asked_me = session.get(me).json()
before = introspect(token["access_token"])
refreshed = session.refresh_token(server["token_endpoint"], auth=plain.get("auth"), **plain.get("data", {}))
status_after_auto, kept = refresh_by_itself(dict(refreshed))
revoked = post(server["revocation_endpoint"], token=kept[0]["refresh_token"])
say({"revoked": True})
device = connect_device()

print(
    json.dumps(
        {
            "done": {
                "token": token,
                "me": asked_me,
                "before": before,
                "refreshed": dict(refreshed),
                "auto": {"status": status_after_auto, "kept": kept},
                "revoked": [revoked.status_code, revoked.text],
                "after": introspect(kept[0]["access_token"]),
                "device": device,
            }
        }
    )
)
