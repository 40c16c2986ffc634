/** Asks identity providers to erase the sessions of erased customers, until they have or refuse. */
import type { Audit } from '../../audit/index.ts'
import { IdentityRefused } from '../identity-port/index.ts'
import { after } from '../../kernel/index.ts'
import { retryDelayAfter } from './rules.ts'
import { leaseMs, type StepDeps } from './step.ts'
import * as store from './store.ts'

export type ProviderErasureDeps = Pick<StepDeps, 'db' | 'clock' | 'log' | 'calls'> & {
  readonly audit: Pick<Audit, 'append'>
}

const partnersPerStepMax = 20
const rowsPerClaimMax = 5

/** Returns how many erasures the step has claimed. */
export function createProviderErasures({ db, clock, log, calls, audit }: ProviderErasureDeps): () => Promise<number> {
  const erase = async ({ partnerId, id, provider, providerSession }: store.ErasureClaim): Promise<void> => {
    if (calls === null || calls.id !== provider) throw new Error(`the identity provider ${provider} is not configured`)
    await calls.erase({ reference: `${partnerId}.${id}`, providerSession })
  }
  /** A provider may have to keep what it has. The row and the audit record remain, so that a person can ask. */
  const recordRefusal = (claim: store.ErasureClaim, error: IdentityRefused) => {
    const { partnerId, id, provider } = claim
    log.error({ err: error, partnerId, verificationId: id, provider }, 'identity provider refused an erasure')
    return db.transaction(async (tx) => {
      await store.refuseErasure(tx, claim, clock.now())
      const subject = { verificationId: id }
      const action = 'customer.identity_erasure_refused'
      audit.append(tx, [{ partnerId, actor: { kind: 'worker' }, action, subject, details: { provider } }])
    })
  }
  const work = async (claim: store.ErasureClaim): Promise<void> => {
    const { partnerId, id, provider } = claim
    try {
      await erase(claim)
    } catch (error) {
      if (error instanceof IdentityRefused) return recordRefusal(claim, error)
      log.warn({ err: error, partnerId, verificationId: id, provider }, 'identity provider did not erase; will retry')
      return store.retryErasure(db, claim, after(clock.now(), retryDelayAfter(claim.attempts)))
    }
    return store.deleteErasure(db, claim)
  }
  return async () => {
    if (calls?.mayCall() === false) return 0
    const now = clock.now()
    const partners = await store.partnersWithErasures(db, now, partnersPerStepMax)
    const counts = await Promise.all(
      partners.map(async ({ partnerId }) => {
        const lease = { now, until: after(now, leaseMs), rowsMax: rowsPerClaimMax }
        const claims = await store.claimErasures(db, partnerId, lease)
        await Promise.all(claims.map(work))
        return claims.length
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }
}
