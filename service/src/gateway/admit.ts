/** What an identified request spends before anything is done for it: its nonce. */
import type { Access, SpentNonce } from '../access/index.ts'
import { after, type Caller, type Clock, type Log, minuteMs, Refusal, secondMs } from '../kernel/index.ts'

export type Admitted = Pick<SpentNonce, 'durable'>

export type Entrance = {
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  readonly method: string
  readonly path: string
  readonly requestId: string
}

/** Refuses (401): nonce_replayed. Nothing may be answered before `durable`: until then a crash of the database could forget the nonce. */
export type Admit = (caller: Caller, entrance: Entrance) => Promise<Admitted>

/** Nonces are remembered for twice the window, and a minute for clocks that differ between instances. */
const nonceMarginMs = minuteMs
/** To the whole second, which the nonces of a batch then share. */
const forgottenAt = (now: Date, windowSeconds: number): Date => {
  const exact = after(now, nonceMarginMs + 2 * windowSeconds * secondMs).getTime()
  return new Date(Math.ceil(exact / secondMs) * secondMs)
}

export function createAdmit(deps: {
  readonly access: Pick<Access, 'spendNonce'>
  readonly clock: Clock
  readonly log: Log
  readonly windowSeconds: number
  /** The answer waits for `durable`. A write makes its nonce durable with itself; a read would only wait twice. */
  readonly swiftWrites: boolean
}): Admit {
  const { access, clock, log, windowSeconds, swiftWrites } = deps
  return async (caller, { nonce, method, path, requestId }) => {
    const expiresAt = forgottenAt(clock.now(), windowSeconds)
    const { fresh, durable } = await access.spendNonce(caller, nonce, expiresAt, swiftWrites && method !== 'GET')
    if (!fresh) throw new Refusal('nonce_replayed')
    const { impersonatedBy, partnerId } = caller
    if (impersonatedBy !== undefined)
      log.info({ requestId, audit: true, impersonatedBy, partnerId, method, path }, 'impersonated request')
    return { durable }
  }
}
