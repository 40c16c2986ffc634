/** The nonce check of an authenticated request. */
import type { Access } from '../../access/index.ts'
import { type Caller, type OpenNonce, Refusal } from '../../kernel/api/index.ts'
import { after, type Clock, type Log, minuteMs, secondMs } from '../../kernel/index.ts'

type NonceRequest = {
  readonly caller: Caller
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  readonly method: string
  readonly path: string
  readonly requestId: string
}

type NonceCheck = {
  readonly nonce: OpenNonce
  /** Consumes the nonce, unless it was already consumed. Refuses (401): nonce_replayed. */
  readonly consume: () => Promise<void>
  /** Resolves when the nonce is on disk. A response before that could be lost with the nonce in a database crash. */
  readonly durable: () => Promise<void>
}

/** Nonces are kept for twice the window, plus a minute for clock differences between processes. */
const nonceMarginMs = minuteMs
/** Rounded up to the second, so that the nonces of a batch share the value. */
const expiryOf = (now: Date, windowSeconds: number): Date => {
  const exact = after(now, nonceMarginMs + 2 * windowSeconds * secondMs).getTime()
  return new Date(Math.ceil(exact / secondMs) * secondMs)
}

export function createNonceCheck(deps: {
  readonly access: Pick<Access, 'consumeNonce'>
  readonly clock: Clock
  readonly log: Log
  readonly windowSeconds: number
  /**
   * Commits the nonce of a write asynchronously: the durable commit of the write flushes the nonce too. A read has no
   * such commit and would wait twice. Requires that the response waits for `durable`.
   */
  readonly asyncCommitOfWrites: boolean
}): (request: NonceRequest) => NonceCheck {
  const { access, clock, log, windowSeconds, asyncCommitOfWrites } = deps
  return ({ caller, nonce: value, method, path, requestId }) => {
    const { partnerId, serviceAccountId, impersonatedBy } = caller
    const expiresAt = expiryOf(clock.now(), windowSeconds)
    const nonce = { partnerId, serviceAccountId, nonce: value, expiresAt, consumed: false }
    let durable = (): Promise<void> => Promise.resolve()
    return {
      nonce,
      consume: async () => {
        if (nonce.consumed) return
        const consumed = await access.consumeNonce(nonce, asyncCommitOfWrites && method !== 'GET')
        nonce.consumed = true
        if (!consumed.fresh) throw new Refusal('nonce_replayed')
        durable = consumed.durable
        if (impersonatedBy !== undefined)
          log.info({ requestId, audit: true, impersonatedBy, partnerId, method, path }, 'impersonated request')
      },
      durable: () => durable(),
    }
  }
}
