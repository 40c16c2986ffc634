#!/usr/bin/env bash
# Generates webhook.json with the openssl command line only, so that the vectors do not depend on the tested code.
# webhook-key.pem is used only for these vectors (openssl genpkey -algorithm ED25519).
set -euo pipefail
cd "$(dirname "$0")"

id=018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21
timestamp=1767225600
secret='webhook vectors, 32 bytes long!!'
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
first=1

# Prints the raw key, which is the last 32 bytes of its DER encoding.
raw_key() { tail -c 32 | openssl base64 -A; }
seed=$(openssl pkey -in webhook-key.pem -outform DER | raw_key)
public=$(openssl pkey -in webhook-key.pem -pubout -outform DER | raw_key)
private=$({ printf '%s' "$seed" | openssl base64 -d -A; printf '%s' "$public" | openssl base64 -d -A; } | openssl base64 -A)

vector() { # name body
  local v1 v1a
  printf '%s.%s.%s' "$id" "$timestamp" "$2" >"$work/content"
  v1=$(openssl dgst -sha256 -mac HMAC -macopt key:"$secret" -binary "$work/content" | openssl base64 -A)
  openssl pkeyutl -sign -rawin -inkey webhook-key.pem -in "$work/content" -out "$work/signature"
  openssl pkeyutl -verify -rawin -inkey webhook-key.pem -in "$work/content" -sigfile "$work/signature" >&2
  v1a=$(openssl base64 -A -in "$work/signature")
  [ "$first" = 1 ] || printf ',\n'
  first=0
  printf '    {\n      "name": "%s",\n      "body": "%s",\n' "$1" "${2//\"/\\\"}"
  printf '      "v1": "v1,%s",\n      "v1a": "v1a,%s"\n    }' "$v1" "$v1a"
}

{
  printf '{\n  "madeBy": "sdk/vectors/make-webhook.sh",\n'
  printf '  "id": "%s",\n  "timestamp": %s,\n' "$id" "$timestamp"
  printf '  "secret": "whsec_%s",\n' "$(printf '%s' "$secret" | openssl base64 -A)"
  printf '  "privateKey": "whsk_%s",\n  "publicKey": "whpk_%s",\n  "vectors": [\n' "$private" "$public"
  vector 'event' "{\"eventId\":\"$id\",\"data\":{\"eventType\":\"transaction.status.changed\",\"amount\":12.50}}"
  vector 'non-ASCII body' "{\"eventId\":\"$id\",\"data\":{\"creditorName\":\"Zoë Müller\",\"note\":\"日本\"}}"
  vector 'body with full stops and spaces' "{\"eventId\":\"$id\",  \"data\":{\"a.b\":\" . \"}}"
  vector 'empty body' ''
  printf '\n  ]\n}\n'
} >webhook.json.new
mv webhook.json.new webhook.json
