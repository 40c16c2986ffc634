/** The signature debugger: says what is wrong with a signed request that a partner describes. */
import { type BodyOf, type ResponseOf, type SignatureMistake, signatureMistakes } from '@partner-payments/wire'
import { type Access, diagnoseSignature, isUnixSeconds, readNonce } from '../../access/index.ts'
import type { Caller } from '../../api/index.ts'
import { type Clock, secondMs } from '../../kernel/index.ts'

type Described = BodyOf<'diagnoseSignature'>

export function createSignatureDebugger(deps: {
  readonly access: Pick<Access, 'credentialOf'>
  readonly clock: Clock
  readonly windowSeconds: number
  readonly publicUrl: string
}) {
  const { access, clock, windowSeconds, publicUrl } = deps

  const headerMistakes = ({ timestamp, nonce }: Described): readonly SignatureMistake[] => {
    const ageMs = clock.now().getTime() - Number(timestamp) * secondMs
    const isLate = Math.abs(ageMs) > windowSeconds * secondMs
    return [
      ...(isUnixSeconds(timestamp) ? (isLate ? (['clock'] as const) : []) : (['timestamp_unit'] as const)),
      ...(readNonce(nonce) === undefined ? (['nonce_format'] as const) : []),
    ]
  }

  return async (caller: Caller, described: Described): Promise<ResponseOf<'diagnoseSignature'>> => {
    const { apiSecret, publicKey } = await access.credentialOf(caller)
    const { origin, path, query } = targetOf(described)
    const { method, timestamp, nonce, signature, canonicalString: given } = described
    const body = Buffer.from(described.body ?? '', 'utf8')
    const signed = { method, path, query, timestamp, nonce, signature, body, canonicalString: given ?? undefined }
    const found = diagnoseSignature(signed, { apiSecret, publicKey }, origin === '' ? [publicUrl] : [publicUrl, origin])
    const mistakes = [...found.mistakes, ...headerMistakes(described)]
    const [likelyMistake] = mistakes
    const { canonicalString } = found
    if (likelyMistake === undefined) return { valid: true, canonicalString, explanation: 'The signature is valid.' }
    const explanation = mistakes.map((mistake) => signatureMistakes[mistake]).join(' ')
    return { valid: false, canonicalString, likelyMistake, explanation }
  }
}

/** A partner may describe the path as a target with query, or as a URL. */
function targetOf({ path, query }: Described) {
  const origin = /^https?:\/\/[^/?#]+/i.exec(path)?.[0] ?? ''
  const target = path.slice(origin.length)
  const at = target.indexOf('?')
  const described = query?.replace(/^\?/, '')
  if (at === -1) return { origin, path: target, query: described ?? '' }
  return { origin, path: target.slice(0, at), query: described ?? target.slice(at + 1) }
}
