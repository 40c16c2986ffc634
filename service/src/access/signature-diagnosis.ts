/**
 * Finds out what is wrong with the signature of a request whose key is known. Only the sandbox answers with the result.
 * Costs one RSA operation and at most `candidatesMax` hashes.
 */
import { createHash, hash as hashOf, type KeyObject } from 'node:crypto'
import { canonicalQuery, sha256Hex, type SignatureMistake } from '@partner-payments/wire'
import { type HashName, readSignature } from './signature-form.ts'
import {
  bodyVariants,
  itemList,
  type Items,
  joins,
  layouts,
  methodVariants,
  mistakeOfLine,
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
  /** The header as sent. */
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
  /** Empty if the signature is valid. The likeliest first; a request may have two. */
  readonly mistakes: readonly SignatureMistake[]
  /** The string that the service verifies, with the secret masked. */
  readonly canonicalString: string
}

/** Stands for the API secret, as in the interface document. */
const secretMask = '<API_SECRET>'
const candidatesMax = 6000
/** Limit of the variants of one item that are combined with variants of other items. */
const combinedVariantsMax = 12

type SearchOptions = {
  readonly request: SignedParts
  readonly items: Items
  readonly origins: readonly string[]
  readonly apiKey: string | undefined
  /** True if the text is what was signed. */
  readonly matches: (text: string) => boolean
}

export function diagnoseSignature(
  request: SignedRequest,
  { apiSecret, publicKey, apiKey }: SigningCredential,
  origins: readonly string[],
): SignatureDiagnosis {
  const { items, isQueryValid } = itemsOf(request, apiSecret)
  const canonicalString = itemList({ ...items, secret: secretMask }).join('\n')
  if (!isQueryValid) return { mistakes: ['query_encoding'], canonicalString }
  const { mistakes, signed } = readSignature(request.signature, publicKey)
  if (signed === undefined) return { mistakes, canonicalString }
  const found = mistakesOfText(
    { request, items, origins, apiKey, matches: matcher(signed) },
    signed,
    request.canonicalString,
  )
  return {
    mistakes: found === undefined ? [...mistakes, 'canonical_string'] : [...mistakes, ...found],
    canonicalString,
  }
}

function itemsOf(request: SignedRequest, secret: string): { readonly items: Items; readonly isQueryValid: boolean } {
  const { method, path, timestamp, nonce, body } = request
  const items = { method, path, query: request.query, timestamp, nonce, secret, bodyHash: sha256Hex(body) }
  try {
    return { items: { ...items, query: canonicalQuery(request.query) }, isQueryValid: true }
  } catch {
    return { items, isQueryValid: false }
  }
}

type Signed = { readonly hash: HashName; readonly digest: Buffer }

function matcher({ hash, digest }: Signed): (text: string) => boolean {
  const expected = digest.toString('hex')
  return (text) => hashOf(hash, text, 'hex') === expected
}

/** Undefined if no candidate explains the signature. */
function mistakesOfText(
  options: SearchOptions,
  signed: Signed,
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
  return compared(options, given)
}

function isDoubleHash(text: string, { hash, digest }: Signed): boolean {
  const once = createHash('sha256').update(text).digest()
  return [once, once.toString('hex'), once.toString('base64')].some((each) =>
    createHash(hash).update(each).digest().equals(digest),
  )
}

function variantsOf({ request, items, origins, apiKey }: SearchOptions): readonly (readonly Variant[])[] {
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

/** The texts with one mistake, then those with two. */
function* candidates(options: SearchOptions): Generator<Candidate> {
  const { items } = options
  const right = itemList(items)
  for (const { write, mistake } of layouts) yield { text: write(right), mistakes: [mistake] }
  const groups = variantsOf(options)
  for (const { changes, mistake } of groups.flat())
    yield { text: itemList({ ...items, ...changes }).join('\n'), mistakes: [mistake] }
  const combined = groups.map((variants) => variants.slice(0, combinedVariantsMax))
  for (const { changes, mistake } of combined.flat())
    for (const layout of joins)
      yield { text: layout.write(itemList({ ...items, ...changes })), mistakes: [layout.mistake, mistake] }
  for (const [index, group] of combined.entries())
    for (const first of group)
      for (const second of combined.slice(index + 1).flat()) {
        const text = itemList({ ...items, ...first.changes, ...second.changes }).join('\n')
        yield { text, mistakes: [first.mistake, second.mistake] }
      }
}

/** Uses the canonical string of the client, if it is what was signed: names the first line that differs. */
function compared(
  { items, matches }: SearchOptions,
  given: string | undefined,
): readonly SignatureMistake[] | undefined {
  if (given === undefined) return undefined
  const text = given.replace(secretMask, () => items.secret)
  if (!matches(text)) return undefined
  const lines = text.split('\n')
  const different = itemList(items).findIndex((line, index) => line !== lines[index])
  return [different === -1 ? 'trailing_line_feed' : mistakeOfLine(different)]
}
