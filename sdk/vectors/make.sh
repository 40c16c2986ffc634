#!/usr/bin/env bash
# Generates signing.json with the openssl command line only, so that the vectors do not depend on the tested code.
# key.pem is used only for these vectors (openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048).
set -euo pipefail
cd "$(dirname "$0")"

secret='sk_vectors_0123456789'
timestamp=1767225600
nonce=3b241101-e2bb-4255-8caf-4136c566a962
first=1

# The canonical queries are written by hand from the documentation.
vector() { # name method path query canonicalQuery body
  local digest canonical signature
  digest=$(printf '%s' "$6" | openssl dgst -sha256 -r | cut -d' ' -f1)
  canonical=$(printf '%s\n%s\n%s\n%s\n%s\n%s\n%s' "$2" "$3" "$5" "$timestamp" "$nonce" "$secret" "$digest")
  signature=$(printf '%s' "$canonical" | openssl dgst -sha256 -sign key.pem | openssl base64 -A)
  printf '%s' "$canonical" | openssl dgst -sha256 -verify <(openssl pkey -in key.pem -pubout) \
    -signature <(printf '%s' "$signature" | openssl base64 -d -A) >&2
  [ "$first" = 1 ] || printf ',\n'
  first=0
  printf '    {\n      "name": "%s",\n      "method": "%s",\n      "path": "%s",\n      "query": "%s",\n' "$1" "$2" "$3" "$4"
  printf '      "canonicalQuery": "%s",\n      "body": "%s",\n      "bodySha256": "%s",\n' "$5" "${6//\"/\\\"}" "$digest"
  printf '      "canonical": "%s",\n      "signature": "%s"\n    }' "${canonical//$'\n'/\\n}" "$signature"
}

{
  printf '{\n  "madeBy": "sdk/vectors/make.sh",\n  "commands": ["openssl dgst -sha256 -r < body", '
  printf '"openssl dgst -sha256 -sign key.pem < canonical | openssl base64 -A"],\n'
  printf '  "apiSecret": "%s",\n  "timestamp": "%s",\n  "nonce": "%s",\n  "vectors": [\n' "$secret" "$timestamp" "$nonce"
  vector 'no query, no body' GET /v1/webhooks/event-types '' '' ''
  vector 'ASCII body' POST /v1/payouts/fiat '' '' \
    '{"amount":12.50,"currency":"EUR","beneficiaryId":"018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21","idempotencyKey":"k-1"}'
  vector 'non-ASCII body' PUT /v1/customers/cus_0123456789abcdef '' '' '{"kyc":{"fullName":"Zoë Müller"}}'
  vector 'sorted by name, then value' GET /v1/customers 'limit=5&cursor=b&cursor=a' 'cursor=a&cursor=b&limit=5' ''
  vector 'duplicates and empty values are kept' GET /v1/customers 'b=&a&b=&a=1' 'a=&a=1&b=&b=' ''
  vector 'reserved characters and a plus sign are encoded' GET /v1/customers \
    "email=a+b@example.com&note=(it's)*!~" 'email=a%2Bb%40example.com&note=%28it%27s%29%2A%21~' ''
  vector 'lower-case percent-encoding becomes upper-case' GET /v1/customers \
    'q=%e2%82%ac%20%7e' 'q=%E2%82%AC%20~' ''
  vector 'sorted by encoded, not decoded, name' GET /v1/customers 'z=1&%C3%A9=2' '%C3%A9=2&z=1' ''
  vector 'an encoded path is signed as called' GET /v1/transactions/a%2Fb%20c '' '' ''
  printf '\n  ]\n}\n'
} >signing.json.new
mv signing.json.new signing.json
