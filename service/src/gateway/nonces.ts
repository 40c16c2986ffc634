/** What an identified request spends before anything is done for it: its nonce. */
import type { Access } from '../access/index.ts'
import { type Caller, type OpenNonce, Refusal } from '../api/index.ts'
import { after, type Clock, type Log, minuteMs, secondMs } from '../kernel/index.ts'

export type Admission = {
  readonly nonce: OpenNonce
  /** Spends the nonce, unless that has been done. Refuses (401): nonce_replayed. */
  readonly spend: () => Promise<void>
  /** Nothing may be answered before: until then a crash of the database could forget the nonce. */
  readonly durable: () => Promise<void>
}

export type Entrance = {
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  readonly method: string
  readonly path: string
  readonly requestId: string
}

export type Admit = (caller: Caller, entrance: Entrance) => Admission

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
  return ({ partnerId, serviceAccountId, impersonatedBy }, { nonce: value, method, path, requestId }) => {
    const expiresAt = forgottenAt(clock.now(), windowSeconds)
    const nonce = { partnerId, serviceAccountId, nonce: value, expiresAt, spent: false }
    let durable = (): Promise<void> => Promise.resolve()
    return {
      nonce,
      spend: async () => {
        if (nonce.spent) return
        const spent = await access.spendNonce(nonce, swiftWrites && method !== 'GET')
        nonce.spent = true
        if (!spent.fresh) throw new Refusal('nonce_replayed')
        durable = spent.durable
        if (impersonatedBy !== undefined)
          log.info({ requestId, audit: true, impersonatedBy, partnerId, method, path }, 'impersonated request')
      },
      durable: () => durable(),
    }
  }
}
