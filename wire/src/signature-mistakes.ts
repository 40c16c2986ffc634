/**
 * The mistakes in a signed request that the sandbox names in `likelyMistake`, with the explanation that it returns. The
 * first sentence says what is wrong, the next one what to do.
 */
export const signatureMistakes = {
  // Headers
  timestamp_unit: '`Timestamp` is not Unix time in seconds. Send whole seconds, not milliseconds and not a date.',
  clock: 'The clock of the client differs too much from the server time. Synchronize the clock.',
  nonce_format: '`Nonce` is not a GUID. Generate a new GUID for each request.',
  signature_hex: '`Signature` is hexadecimal. Encode the bytes of the signature in Base64.',
  signature_encoding:
    '`Signature` is not plain Base64. Encode the bytes of the signature once in standard Base64 with padding, on one line.',
  signature_length:
    '`Signature` does not have the length of the RSA key. Sign with the RSA private key of the API key, not by HMAC or ECDSA.',
  // Key and algorithm
  private_key: 'The signature was made with another private key. Use the private key that belongs to the API key.',
  padding_scheme: 'The signature uses PSS padding. Use PKCS#1 v1.5 padding.',
  hash_algorithm: 'The signature uses another hash than SHA-256. Sign with RSA and SHA-256.',
  digest_info_missing:
    'The signed bytes do not name the hash algorithm. Use the RSA-SHA256 function of a library on the canonical string.',
  double_hash:
    'The canonical string was hashed before it was signed. Pass the canonical string itself to the RSA-SHA256 function.',
  // Lines of the canonical string
  line_feeds:
    'The items are not joined with a single line feed (LF). Use the byte 0x0A, not CRLF and no other separator.',
  trailing_line_feed: 'The canonical string has a line feed before the first or after the last item. Remove it.',
  item_order: 'The items are in another order. Use method, path, query, timestamp, nonce, secret, hash of the body.',
  method_case: 'The signed method is not in upper case. Sign the method as it is in the request line.',
  method: 'The signed method differs from the method of the request. Sign the method of the request.',
  path: 'The signed path differs from the path as called. Sign the public path, from `/v1`, without host and query.',
  path_with_query: 'The signed path contains the query. Sign the path without the query.',
  query_missing:
    'The signature does not cover the query as its own line. Sign the canonical query, an empty line without one.',
  query_question_mark: 'The signed query begins with a question mark. Sign the query without it.',
  query_order: 'The signed query is not sorted. Sort the parameters by name, then by value.',
  query_encoding:
    'The signed query is not encoded by RFC 3986. Percent-encode each name and value, and keep empty values with `=`.',
  timestamp_mismatch: 'The signed timestamp differs from the header. Read the clock once for both.',
  nonce_spelling: 'The signed nonce is spelled differently from the header. Sign the nonce exactly as sent.',
  secret_missing: 'The signed string does not contain the API secret. Sign the API secret as the sixth item.',
  secret_spelling:
    'The signed API secret is not spelled as issued. Use the text as issued, without decoding and line feeds.',
  body_missing: 'The signature does not cover the body. Sign the SHA-256 of the raw body, also if the body is empty.',
  body_not_hashed: 'The signed string contains the body itself. Sign the hexadecimal SHA-256 of the body.',
  body_hash_case: 'The hash of the body is in upper case. Write it in lower-case hexadecimal.',
  body_hash_form:
    'The hash of the body is not one hexadecimal SHA-256. Hash the raw body once and write it in hexadecimal.',
  body_reserialised:
    'The signed body is another serialisation of the JSON that was sent. Serialise once; sign and send the same bytes.',
  canonical_string:
    'The private key is right and the signed string differs. Compare it with `canonicalString` line by line, and check the secret.',
} as const

export type SignatureMistake = keyof typeof signatureMistakes
