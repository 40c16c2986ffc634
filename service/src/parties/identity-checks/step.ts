/**
 * The step for due verifications: a worker claims them under a lease, calls the provider outside of any transaction,
 * and records the response under the fence. If the process crashes in between, the row is due again, and the provider
 * repeats its response.
 */
import { after, type Clock, type Log, minuteMs, newId, type Sealer, toJsonAmount } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import { type IdentityCalls, IdentityRequestRefused } from '../identity-port/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { ifFound } from '../../kernel/api/index.ts'
import type { Customer, Customers } from '../customers/index.ts'
import { applyFailure, applyReport, applyStart, expireRow, failRow } from './rules.ts'
import * as store from './store.ts'
import type { identity, VerificationState } from '@partner-payments/wire'

export type StepDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly sealer: Sealer
  readonly customers: Pick<Customers, 'hold' | 'rejudge' | 'reviews'>
  readonly eventOutbox: Pick<EventOutbox, 'append'>
  /** Null: no provider is configured. */
  readonly calls: IdentityCalls | null
}

/** Lease of a claim. It is far longer than the timeout of a provider call, so that only a crashed worker loses it. */
export const leaseMs = 2 * minuteMs
const partnersPerStepMax = 20
/**
 * Maximum rows of a partner in a step, which calls the provider for them in parallel. Further rows wait for the next
 * step, after those of other partners.
 */
const rowsPerClaimMax = 5

/**
 * Creates the worker step for one kind of work. Expiries do not involve the provider, so they continue while it does
 * not respond.
 */
export function createStep(
  deps: StepDeps,
  contents: store.ContentSealer,
  work: store.DueReason,
): () => Promise<number> {
  const { db, clock, log } = deps
  const advance = async (claim: store.Claim) =>
    record(deps, contents, claim, work === 'expiry' ? { row: expireRow(claim) } : await ask(deps, contents, claim))
  const workOn = async (partnerId: string): Promise<number> => {
    const now = clock.now()
    const lease = { id: newId(), until: after(now, leaseMs) }
    const claims = await store.claimDue(db, partnerId, lease, work, now, rowsPerClaimMax)
    const worked = await Promise.allSettled(claims.map(advance))
    for (const [index, outcome] of worked.entries())
      if (outcome.status === 'rejected')
        log.error(
          { err: outcome.reason as unknown, partnerId, verificationId: claims[index]?.id },
          'identity verification failed; will retry when its lease ends',
        )
    return claims.length
  }
  return async () => {
    if (work === 'question' && deps.calls?.mayCall() === false) return 0
    const partners = await store.partnersDue(db, work, clock.now(), partnersPerStepMax)
    const counts = await Promise.all(partners.map(({ partnerId }) => workOn(partnerId)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

type Outcome = {
  readonly row: store.IdentityRow
  readonly changes?: Partial<Parameters<store.ContentSealer['seal']>[1]>
}

/** Calls the provider outside of any transaction. A failed call is also an outcome. */
async function ask(
  { calls, clock, log }: StepDeps,
  contents: store.ContentSealer,
  claim: store.Claim,
): Promise<Outcome> {
  const { id, partnerId, provider, providerSession, kinds } = claim
  try {
    if (calls === null || calls.id !== provider) throw new Error(`the identity provider ${provider} is not configured`)
    if (providerSession === null) {
      const { customerType, subject, returnUrl } = contents.open(claim)
      const started = await calls.start({ reference: `${partnerId}.${id}`, kinds, customerType, subject, returnUrl })
      return { row: applyStart(claim, started, clock.now()), changes: { url: started.url } }
    }
    const report = await calls.report(providerSession)
    const row = applyReport(claim, report, clock.now())
    const isNew = row.providerVersion > claim.providerVersion && report !== undefined && 'evidence' in report
    return isNew ? { row, changes: { evidence: report.evidence } } : { row }
  } catch (error) {
    if (error instanceof IdentityRequestRefused && providerSession === null) {
      log.warn({ err: error, partnerId, verificationId: id, provider }, 'identity provider refused a verification')
      return { row: failRow(claim, 'RequestRefused') }
    }
    log.warn({ err: error, partnerId, verificationId: id, provider }, 'identity provider did not answer')
    return { row: applyFailure(claim, clock.now()) }
  }
}

/** Writes the outcome with the state of the customer and the event, if the lease still holds. */
async function record(
  { db, clock, customers, eventOutbox }: StepDeps,
  contents: store.ContentSealer,
  claim: store.Claim,
  { row: reached, changes }: Outcome,
): Promise<void> {
  const { partnerId, customerId } = claim
  const isChanged = reached.status !== claim.status || reached.providerVersion !== claim.providerVersion
  const content = { ...contents.open(claim), ...changes, ...(reached.status === 'Open' ? {} : { url: null }) }
  const row = {
    ...reached,
    contentSealed: contents.seal(claim, content),
    updatedAt: isChanged ? clock.now() : claim.updatedAt,
  }
  await db.transaction(async (tx) => {
    // Lock order: the customer first, like an erasure. An erased customer does not have a verification to write.
    const customer = await ifFound(customers.hold(tx, partnerId, customerId))
    if (customer === undefined || (await store.endClaim(tx, claim, row)) === 0) return
    if (!isChanged) return
    if (row.inForce && row.decidedAt !== claim.decidedAt) await store.replaceEarlier(tx, row)
    const verificationState = await customers.rejudge(tx, partnerId, customerId)
    if (verificationState === undefined) return
    if (row.status === 'Expired') await customers.reviews.makeDue(tx, partnerId, customerId)
    if (row.status !== claim.status)
      appendUpdated(eventOutbox, tx, row, { customer, status: row.status, verificationState })
  })
}

function appendUpdated(
  eventOutbox: Pick<EventOutbox, 'append'>,
  tx: Tx,
  { partnerId, id, kinds, reason, updatedAt }: store.IdentityRow,
  {
    customer,
    status,
    verificationState,
  }: {
    readonly customer: Pick<Customer, 'id' | 'serviceId' | 'partnerCustomerIdentifier'>
    readonly status: identity.IdentityStatus
    readonly verificationState: VerificationState
  },
): void {
  eventOutbox.append(tx, partnerId, 'customer.verification.updated', updatedAt, {
    // Events require an amount.
    amount: toJsonAmount(0n, 'EUR'),
    currency: 'EUR',
    customFields: null,
    idempotencyKey: null,
    reference: id,
    websiteReference: null,
    customerGuid: customer.id,
    customerId: customer.serviceId,
    kinds: [...kinds],
    partnerCustomerId: customer.partnerCustomerIdentifier,
    reason,
    status,
    verificationState,
  })
}
