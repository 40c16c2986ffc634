/**
 * The token that a gateway process sends to an api process: the authenticated caller, valid for a minute and bound to the
 * method, target and body of the request. Both processes derive its MAC key from the master key.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { ownJson, sha256Hex } from '@partner-payments/wire'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { type Clock, minuteMs } from '../../kernel/index.ts'
import type { Headers } from './signature.ts'

const callerHeader = 'x-internal-caller'
const callerMacHeader = 'x-internal-caller-mac'
/** The request target as the partner sent it: a URL library in between may normalise the URL of the request line. */
const targetHeader = 'x-internal-target'

export function targetOf(headers: Headers): string | undefined {
  const text = headers[targetHeader]
  return typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : undefined
}

type BoundRequest = { readonly method: string; readonly url: string; readonly body: Uint8Array }
/** Contents of an internal token. A null caller: a public page, which no operation accepts. */
type Envelope = { readonly caller: Caller | null; readonly at: number; readonly ip: string }

export type InternalTokens = {
  /** Returns the headers of the token. Without a caller: of a public page. */
  readonly issue: (caller: Caller | null, ip: string, bound: BoundRequest) => Readonly<Record<string, string>>
  /** Refuses (401): signature_required, signature_invalid. */
  readonly verify: (headers: Headers, bound: BoundRequest) => { readonly caller: Caller; readonly ip: string }
  /** The address of the client of a public page. Refuses as `verify`. */
  readonly verifyPublic: (headers: Headers, bound: BoundRequest) => string
}

export function createInternalTokens(deps: { readonly key: Uint8Array; readonly clock: Clock }): InternalTokens {
  const { key, clock } = deps
  const mac = (text: string, { method, url, body }: BoundRequest) =>
    createHmac('sha256', key)
      .update([text, method, url, sha256Hex(body)].join('\n'))
      .digest()
  const open = (headers: Headers, bound: BoundRequest): Envelope => {
    const text = headers[callerHeader]
    const given = headers[callerMacHeader]
    if (typeof text !== 'string' || typeof given !== 'string')
      throw new Refusal('signature_required', 'This process accepts requests from its gateway only.')
    const bytes = Buffer.from(given, 'base64url')
    const expected = mac(text, bound)
    if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) throw new Refusal('signature_invalid')
    const envelope = ownJson<Envelope>(Buffer.from(text, 'base64url').toString('utf8'))
    if (Math.abs(clock.now().getTime() - envelope.at) > minuteMs) throw new Refusal('signature_invalid')
    return envelope
  }
  return {
    issue: (caller, ip, bound) => {
      const envelope: Envelope = { caller, at: clock.now().getTime(), ip }
      const text = Buffer.from(JSON.stringify(envelope), 'utf8').toString('base64url')
      return {
        [callerHeader]: text,
        [callerMacHeader]: mac(text, bound).toString('base64url'),
        [targetHeader]: Buffer.from(bound.url, 'latin1').toString('base64url'),
      }
    },
    verify: (headers, bound) => {
      const { caller, ip } = open(headers, bound)
      if (caller === null) throw new Refusal('signature_invalid')
      return { caller, ip }
    },
    verifyPublic: (headers, bound) => {
      const { caller, ip } = open(headers, bound)
      if (caller !== null) throw new Refusal('signature_invalid')
      return ip
    },
  }
}
