/**
 * Diagnoses the signature of a request with a known key. Only the sandbox returns the result. Costs one RSA operation
 * and at most `candidatesMax` hashes.
 */
import { constants, createHash, hash as hashOf, type KeyObject, publicDecrypt } from 'node:crypto'
import { canonicalQuery, sha256Hex, type SignatureMistake } from '@partner-payments/wire'
import {
  bodyVariants,
  itemList,
  type CanonicalItems,
  joinLayouts,
  layouts,
  methodVariants,
  lineMistake,
  nonceVariants,
  pathVariants,
  queryVariants,
  secretVariants,
  type SignedParts,
  timestampVariants,
  type Variant,
} from './signature-variants.ts'

/** A request with its signature, as the client sent it. */
type SignedRequest = SignedParts & {
  /** The signature header as sent. */
  readonly signature: string
  /** The canonical string that the client says it signed. It may contain the secret or `<API_SECRET>`. */
  readonly canonicalString?: string | undefined
}

type SigningCredential = {
  readonly apiSecret: string
  readonly publicKey: KeyObject
  readonly apiKey?: string
}

export type SignatureDiagnosis = {
  /** The mistakes, the most likely first; a request may have two. Empty: the signature is valid. */
  readonly mistakes: readonly SignatureMistake[]
  /** The string that the service verifies, with the secret masked. */
  readonly canonicalString: string
}

/** Replaces the API secret, as in the interface document. */
const secretMask = '<API_SECRET>'
const candidatesMax = 6000
/** Maximum number of variants of an item that are combined with variants of other items. */
const combinedVariantsMax = 12

type SearchInput = {
  readonly request: SignedParts
  readonly items: CanonicalItems
  readonly origins: readonly string[]
  readonly apiKey: string | undefined
  /** Reports whether the client signed this text. */
  readonly matches: (text: string) => boolean
}

export function diagnoseSignature(
  request: SignedRequest,
  { apiSecret, publicKey, apiKey }: SigningCredential,
  origins: readonly string[],
): SignatureDiagnosis {
  const { items, isQueryValid } = canonicalItems(request, apiSecret)
  const canonicalString = itemList({ ...items, secret: secretMask }).join('\n')
  if (!isQueryValid) return { mistakes: ['query_encoding'], canonicalString }
  const { mistakes, signed } = readSignature(request.signature, publicKey)
  if (signed === undefined) return { mistakes, canonicalString }
  const found = findMistakes(
    { request, items, origins, apiKey, matches: matcher(signed) },
    signed,
    request.canonicalString,
  )
  return {
    mistakes: found === undefined ? [...mistakes, 'canonical_string'] : [...mistakes, ...found],
    canonicalString,
  }
}

function canonicalItems(
  request: SignedRequest,
  secret: string,
): { readonly items: CanonicalItems; readonly isQueryValid: boolean } {
  const { method, path, timestamp, nonce, body } = request
  const items = { method, path, query: request.query, timestamp, nonce, secret, bodyHash: sha256Hex(body) }
  try {
    return { items: { ...items, query: canonicalQuery(request.query) }, isQueryValid: true }
  } catch {
    return { items, isQueryValid: false }
  }
}

type SignedDigest = { readonly hash: HashName; readonly digest: Buffer }

function matcher({ hash, digest }: SignedDigest): (text: string) => boolean {
  const expected = digest.toString('hex')
  return (text) => hashOf(hash, text, 'hex') === expected
}

/** Finds the mistakes in the signed text. Undefined: no candidate explains the signature. */
function findMistakes(
  options: SearchInput,
  signed: SignedDigest,
  given: string | undefined,
): readonly SignatureMistake[] | undefined {
  const right = itemList(options.items).join('\n')
  if (options.matches(right)) return []
  if (isDoubleHash(right, signed)) return ['double_hash']
  let hashes = 0
  for (const { text, mistakes } of candidates(options)) {
    if (options.matches(text)) return mistakes
    hashes += 1
    if (hashes >= candidatesMax) break
  }
  return compareCanonicalString(options, given)
}

function isDoubleHash(text: string, { hash, digest }: SignedDigest): boolean {
  const once = createHash('sha256').update(text).digest()
  return [once, once.toString('hex'), once.toString('base64')].some((each) =>
    createHash(hash).update(each).digest().equals(digest),
  )
}

function listVariants({ request, items, origins, apiKey }: SearchInput): readonly (readonly Variant[])[] {
  return [
    bodyVariants(request, items),
    queryVariants(request, items),
    pathVariants(request, items, origins),
    methodVariants(request),
    nonceVariants(request),
    secretVariants(items.secret, apiKey),
    timestampVariants(request),
  ]
}

type Candidate = { readonly text: string; readonly mistakes: readonly SignatureMistake[] }

/** Yields the texts with one mistake, and then those with two. */
function* candidates(options: SearchInput): Generator<Candidate> {
  const { items } = options
  const right = itemList(items)
  for (const { write, mistake } of layouts) yield { text: write(right), mistakes: [mistake] }
  const groups = listVariants(options)
  for (const { changes, mistake } of groups.flat())
    yield { text: itemList({ ...items, ...changes }).join('\n'), mistakes: [mistake] }
  const combined = groups.map((variants) => variants.slice(0, combinedVariantsMax))
  for (const { changes, mistake } of combined.flat())
    for (const layout of joinLayouts)
      yield { text: layout.write(itemList({ ...items, ...changes })), mistakes: [layout.mistake, mistake] }
  for (const [index, group] of combined.entries())
    for (const first of group)
      for (const second of combined.slice(index + 1).flat()) {
        const text = itemList({ ...items, ...first.changes, ...second.changes }).join('\n')
        yield { text, mistakes: [first.mistake, second.mistake] }
      }
}

/** Compares the client's canonical string, if the client signed it, and names the first line that differs. */
function compareCanonicalString(
  { items, matches }: SearchInput,
  given: string | undefined,
): readonly SignatureMistake[] | undefined {
  if (given === undefined) return undefined
  const text = given.replace(secretMask, () => items.secret)
  if (!matches(text)) return undefined
  const lines = text.split('\n')
  const different = itemList(items).findIndex((line, index) => line !== lines[index])
  return [different === -1 ? 'trailing_line_feed' : lineMistake(different)]
}

// Reads the content of an RSA signature. The public key turns a PKCS#1 v1.5 signature back into the signed digest, so that each
// possible mistake costs one hash instead of one verification.

type HashName = 'sha256' | 'sha1' | 'sha224' | 'sha384' | 'sha512' | 'md5'

type SignatureForm = {
  /** Mistakes in the encoding, the key, the padding and the hash algorithm. */
  readonly mistakes: readonly SignatureMistake[]
  /** Absent: the signature does not reveal the signed digest. */
  readonly signed?: { readonly hash: HashName; readonly digest: Buffer }
}

/** RFC 8017 section 9.2: the DER bytes before the digest. */
const digestInfoPrefixes: readonly (readonly [hash: HashName, prefix: Buffer])[] = (
  [
    ['sha256', '3031300d060960864801650304020105000420'],
    ['sha1', '3021300906052b0e03021a05000414'],
    ['sha224', '302d300d06096086480165030402040500041c'],
    ['sha384', '3041300d060960864801650304020205000430'],
    ['sha512', '3051300d060960864801650304020305000440'],
    ['md5', '3020300c06082a864886f70d020505000410'],
  ] as const
).map(([hash, prefix]) => [hash, Buffer.from(prefix, 'hex')])

const base64 = /^[A-Za-z0-9+/]+={0,2}$/
const isHex = (text: string, bytes: number) => text.length === 2 * bytes && /^[0-9a-fA-F]+$/.test(text)

type DecodedSignature = { readonly bytes: Buffer; readonly mistakes: readonly SignatureMistake[] }

/**
 * Decodes a signature. `length`: the size of the RSA key in bytes. Undefined: no encoding yields a signature of this
 * length.
 */
function decode(text: string, length: number): DecodedSignature | undefined {
  const hexDigits = text.replace(/^0x/i, '').replaceAll(/[\s:-]/g, '')
  if (isHex(hexDigits, length)) return { bytes: Buffer.from(hexDigits, 'hex'), mistakes: ['signature_hex'] }
  const bytes = Buffer.from(text, 'base64')
  const isStandard = base64.test(text) && text.length % 4 === 0
  if (bytes.length === length) return { bytes, mistakes: isStandard ? [] : ['signature_encoding'] }
  const inner = bytes.toString('latin1').trim()
  if (isHex(inner, length)) return { bytes: Buffer.from(inner, 'hex'), mistakes: ['signature_hex'] }
  const texts = [
    inner,
    text.replaceAll(/%[0-9a-f]{2}/gi, (code) => decodeURIComponent(code)),
    text.replaceAll(/["'\s]/g, ''),
  ]
  const found = texts.map((each) => Buffer.from(each, 'base64')).find((each) => each.length === length)
  return found && { bytes: found, mistakes: ['signature_encoding'] }
}

function readSignature(text: string, publicKey: KeyObject): SignatureForm {
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0
  const length = Math.ceil(bits / 8)
  const decoded = decode(text, length)
  if (decoded === undefined) return { mistakes: ['signature_length'] }
  const { mistakes } = decoded
  const message = openSignature(decoded.bytes, publicKey)
  if (message === undefined) return { mistakes: [...mistakes, 'private_key'] }
  const payload = pkcs1Payload(message)
  if (payload === undefined) return { mistakes: [...mistakes, isPss(message) ? 'padding_scheme' : 'private_key'] }
  for (const [hash, prefix] of digestInfoPrefixes)
    if (payload.subarray(0, prefix.length).equals(prefix)) {
      const signed = { hash, digest: payload.subarray(prefix.length) }
      return { mistakes: hash === 'sha256' ? mistakes : [...mistakes, 'hash_algorithm'], signed }
    }
  return { mistakes: [...mistakes, 'digest_info_missing'], signed: { hash: 'sha256', digest: payload } }
}

function openSignature(bytes: Buffer, publicKey: KeyObject): Buffer | undefined {
  try {
    return publicDecrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, bytes)
  } catch {
    return undefined // The number is larger than the modulus of this key.
  }
}

/** Reads the payload (RFC 8017 section 9.2): it follows 00 01, at least eight bytes FF, and 00. */
function pkcs1Payload(message: Buffer): Buffer | undefined {
  const end = message.indexOf(0, 2)
  const isPadded =
    message[0] === 0 && message[1] === 1 && end >= 10 && message.subarray(2, end).every((byte) => byte === 0xff)
  return isPadded ? message.subarray(end + 1) : undefined
}

/** Recognizes PSS (RFC 8017 section 9.1.2): the unmasked block has zeros, a byte 01 and the salt. */
function isPss(message: Buffer): boolean {
  if (message.at(-1) !== 0xbc) return false
  return (['sha256', 'sha1', 'sha384', 'sha512'] as const).some((hash) => {
    const digestBytes = createHash(hash).digest().length
    const masked = message.subarray(0, -digestBytes - 1)
    const mask = mgf1Mask(hash, message.subarray(-digestBytes - 1, -1), masked.length)
    const block = masked.map((byte, index) => byte ^ (mask[index] ?? 0))
    block[0] = (block[0] ?? 0) & 0x7f
    return block.find((byte) => byte !== 0) === 1
  })
}

/** Computes the mask generation function MGF1 (RFC 8017 section B.2.1). */
function mgf1Mask(hash: HashName, seed: Buffer, length: number): Buffer {
  const parts: Buffer[] = []
  for (let counter = 0, bytes = 0; bytes < length; counter += 1) {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    const part = createHash(hash).update(seed).update(count).digest()
    parts.push(part)
    bytes += part.length
  }
  return Buffer.concat(parts)
}
