/**
 * Names the mistake in a refused signature: adds the canonical string and the likely mistake to the refusal. Only for the
 * sandbox and for a known key. A caller without the private key can cause this work, so that it is limited for each key.
 */
import { signatureMistakes } from '@partner-payments/wire'
import { type Access, diagnoseSignature, isUnixSeconds, type SignatureDiagnosis } from '../access/index.ts'
import { Refusal } from '../api/index.ts'
import { type Clock, secondMs } from '../kernel/index.ts'
import { createRateLimiter } from './rate.ts'
import type { RawRequest } from './server.ts'
import type { SentSignature } from './signature.ts'

/** A hint takes a few milliseconds of the thread. */
const hintsPerSecond = 5
const hintsAtOnceMax = 20
const hintedCodes: ReadonlySet<string> = new Set(['timestamp_out_of_window', 'nonce_invalid', 'signature_invalid'])

export type SignatureHints = (
  refused: unknown,
  sent: SentSignature,
  request: RawRequest,
  readBody: () => Promise<Uint8Array>,
) => Promise<unknown>

/** Returns the error to throw: the refusal with a hint, or the error unchanged. */
export function createSignatureHints(deps: {
  readonly access: Pick<Access, 'credential'>
  readonly clock: Clock
}): SignatureHints {
  const { access, clock } = deps
  const limiter = createRateLimiter({ clock, perSecond: hintsPerSecond, burst: hintsAtOnceMax })
  return async (refused, sent, request, readBody) => {
    if (!(refused instanceof Refusal) || !hintedCodes.has(refused.code)) return refused
    const credential = await access.credential(sent.apiKey)
    if (credential === undefined || !limiter.tryTake(credential.caller.serviceAccountId)) return refused
    const { method, path, query, headers } = request
    const { timestamp, nonce, signature, apiKey } = sent
    const body = await readBody()
    const host = typeof headers['host'] === 'string' ? [`http://${headers['host']}`, `https://${headers['host']}`] : []
    const signed = { method, path, query, timestamp, nonce, signature, body }
    const { apiSecret, publicKey } = credential
    return hinted(refused, sent, diagnoseSignature(signed, { apiSecret, publicKey, apiKey }, host), clock.now())
  }
}

function hinted(
  { code, headers }: Refusal,
  { timestamp }: SentSignature,
  { mistakes, canonicalString }: SignatureDiagnosis,
  now: Date,
): Refusal {
  if (code === 'nonce_invalid')
    return new Refusal(code, signatureMistakes.nonce_format, {
      headers,
      hint: { canonicalString, likelyMistake: 'nonce_format' },
    })
  if (code === 'timestamp_out_of_window') {
    const likelyMistake = isUnixSeconds(timestamp) ? 'clock' : 'timestamp_unit'
    const detail = likelyMistake === 'clock' ? clockDetail(timestamp, now) : signatureMistakes.timestamp_unit
    return new Refusal(code, detail, { headers, hint: { canonicalString, likelyMistake } })
  }
  const [likelyMistake = 'canonical_string'] = mistakes
  const detail = (mistakes.length === 0 ? [likelyMistake] : mistakes).map((each) => signatureMistakes[each]).join(' ')
  return new Refusal(code, detail, { headers, hint: { canonicalString, likelyMistake } })
}

function clockDetail(timestamp: string, now: Date): string {
  const seconds = Math.round(Number(timestamp) - now.getTime() / secondMs)
  const difference = `\`Timestamp\` is ${Math.abs(seconds)} seconds ${seconds < 0 ? 'behind' : 'ahead of'} the server time.`
  return `${difference} ${signatureMistakes.clock}`
}
