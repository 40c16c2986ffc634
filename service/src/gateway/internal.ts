/**
 * Between a gateway process and an api process: the caller that the gateway has authenticated, signed with a key that
 * both derive from the master key, bound to this request's method, path and body, and good for a minute.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { sha256Hex } from '@partner-payments/wire'
import { type Caller, Refusal } from '../api/index.ts'
import { type Clock, minuteMs } from '../kernel/index.ts'
import type { Headers } from './signature.ts'

export const callerHeader = 'x-internal-caller'
export const callerMacHeader = 'x-internal-caller-mac'
/** The request target as the partner called it: no URL library on the way may mend it, since the pass is bound to it. */
const targetHeader = 'x-internal-target'

export function targetOf(headers: Headers): string | undefined {
  const text = headers[targetHeader]
  return typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : undefined
}

type Bound = { readonly method: string; readonly url: string; readonly body: Uint8Array }
type Envelope = { readonly caller: Caller; readonly at: number; readonly ip: string }

export type InternalPass = {
  readonly write: (caller: Caller, ip: string, bound: Bound) => Readonly<Record<string, string>>
  /** Refuses (401): signature_required, signature_invalid. */
  readonly read: (headers: Headers, bound: Bound) => { readonly caller: Caller; readonly ip: string }
}

export function createInternalPass({ key, clock }: { readonly key: Uint8Array; readonly clock: Clock }): InternalPass {
  const mac = (text: string, { method, url, body }: Bound) =>
    createHmac('sha256', key)
      .update([text, method, url, sha256Hex(body)].join('\n'))
      .digest()
  return {
    write: (caller, ip, bound) => {
      const envelope: Envelope = { caller, at: clock.now().getTime(), ip }
      const text = Buffer.from(JSON.stringify(envelope), 'utf8').toString('base64url')
      return {
        [callerHeader]: text,
        [callerMacHeader]: mac(text, bound).toString('base64url'),
        [targetHeader]: Buffer.from(bound.url, 'latin1').toString('base64url'),
      }
    },
    read: (headers, bound) => {
      const text = headers[callerHeader]
      const given = headers[callerMacHeader]
      if (typeof text !== 'string' || typeof given !== 'string')
        throw new Refusal('signature_required', 'This process answers its gateway only.')
      const bytes = Buffer.from(given, 'base64url')
      const expected = mac(text, bound)
      if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) throw new Refusal('signature_invalid')
      const { caller, at, ip } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Envelope
      if (Math.abs(clock.now().getTime() - at) > minuteMs) throw new Refusal('signature_invalid')
      return { caller, ip }
    },
  }
}
