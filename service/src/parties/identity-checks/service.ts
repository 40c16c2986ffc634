/** The operations of identity verifications. They treat an erased customer as unknown. */
import type { BodyOf, QueryOf } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, Refusal } from '../../kernel/api/index.ts'
import { after, type Clock, isUuid, newId, type Sealer } from '../../kernel/index.ts'
import { type IdentityHint, IdentityRequestRefused } from '../identity-port/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { type Customers, selectComparedFields } from '../customers/index.ts'
import { readRequest, retryDelayAfter } from './rules.ts'
import * as store from './store.ts'
import { createStep, leaseMs, type StepDeps } from './step.ts'
import type { Audit } from '../../audit/index.ts'

/** A verification with its opened content. */
export type IdentityVerification = Omit<store.IdentityRow, 'contentSealed'> &
  Pick<store.SealedContent, 'url' | 'evidence'>

export type IdentityChecks = {
  /**
   * Creates a verification. The job then calls the provider. Refuses: not_found, validation_failed (kinds, returnUrl),
   * identity_provider_not_configured, identity_verification_open.
   */
  readonly create: (
    partnerId: string,
    ref: string,
    body: BodyOf<'createIdentityVerification'>,
    tx?: Tx,
  ) => Promise<IdentityVerification>
  /** Lists verifications, newest first. Refuses: not_found, validation_failed (cursor). */
  readonly list: (
    partnerId: string,
    ref: string,
    query: QueryOf<'listIdentityVerifications'>,
  ) => Promise<Page<IdentityVerification>>
  /** Reads a verification. Refuses: not_found. */
  readonly get: (partnerId: string, ref: string, id: string) => Promise<IdentityVerification>
  /**
   * Makes the verification that a webhook is about due, if the provider has a newer version. Returns whether it is due.
   */
  readonly hint: (provider: string, hint: IdentityHint) => Promise<boolean>
  /** Calls the provider for due verifications, and returns how many it claimed. */
  readonly step: () => Promise<number>
  /** Requests providers to erase the sessions of erased customers, and returns how many it claimed. */
  readonly eraseStep: () => Promise<number>
  /** Expires verifications whose document has expired, and returns how many it claimed. */
  readonly expireStep: () => Promise<number>
  readonly releaseLeases: (partnerId: string, tx?: Tx) => Promise<void>
  /** Returns when the oldest due verification became due. */
  readonly oldestDue: (now: Date) => Promise<Date | null>
}

export type IdentityChecksDeps = StepDeps &
  ProviderErasureDeps & {
    readonly db: Database
    readonly clock: Clock
    readonly sealer: Sealer
    readonly cursors: Cursors
    readonly customers: Pick<Customers, 'find' | 'hold' | 'resolveId' | 'resolvePresentId' | 'rejudge' | 'reviews'>
    readonly sandbox: boolean
  }

export function createIdentityChecks(deps: IdentityChecksDeps): IdentityChecks {
  const { db, clock, cursors, customers } = deps
  const contents = store.createContentSealer(deps.sealer)
  const toVerification = ({ contentSealed, ...row }: store.IdentityRow): IdentityVerification => {
    const { url, evidence } = contents.open({ ...row, contentSealed })
    return { ...row, url, evidence }
  }
  const resolveCustomer = async (partnerId: string, ref: string): Promise<string> => {
    const id = await customers.resolvePresentId(db, partnerId, ref)
    if (id === undefined) throw notFound('customer')
    return id
  }
  return {
    create: createCreate(deps),
    list: async (partnerId, ref, query) => {
      const customerId = await resolveCustomer(partnerId, ref)
      const list = `identity-verifications:${partnerId}:${customerId}`
      const request = cursors.read(list, query)
      const page = cursors.page(list, request, await store.listVerifications(db, partnerId, customerId, request))
      return { ...page, data: page.data.map(toVerification) }
    },
    get: async (partnerId, ref, id) => {
      const customerId = await resolveCustomer(partnerId, ref)
      const row = await store.verificationById(db, partnerId, { customerId, id })
      if (row === undefined) throw notFound('identity verification')
      return toVerification(row)
    },
    hint: async (provider, { reference, version }) => {
      const [partnerId = '', id = '', ...more] = reference.split('.')
      if (!isUuid(partnerId) || !isUuid(id) || more.length > 0) return false
      return (await store.markDue(db, { partnerId, id }, { provider, version, now: clock.now() })) > 0
    },
    step: createStep(deps, contents, 'question'),
    expireStep: createStep(deps, contents, 'expiry'),
    eraseStep: createProviderErasures(deps),
    releaseLeases: (partnerId, tx) => store.releaseLeases(tx ?? db, partnerId, clock.now()),
    oldestDue: (now) => store.oldestDue(db, now),
  }
}

function createCreate(deps: IdentityChecksDeps): IdentityChecks['create'] {
  const { db, clock, customers, calls, sandbox } = deps
  const contents = store.createContentSealer(deps.sealer)
  return (partnerId, ref, body, outerTx) =>
    inTransaction(db, outerTx, async (tx) => {
      const customer = await customers.hold(tx, partnerId, ref)
      const { kinds, returnUrl } = readRequest(body, customer.customerType, sandbox)
      if (calls === null) throw new Refusal('identity_provider_not_configured')
      // Under the lock of the customer, so that two concurrent requests cannot both create one.
      await customers.rejudge(tx, partnerId, customer.id)
      const open = await store.openVerification(tx, partnerId, customer.id)
      if (open !== undefined)
        throw new Refusal(
          'identity_verification_open',
          `The customer already has the undecided verification ${open.id}. Read it and give its \`url\` to the customer.`,
        )
      const now = clock.now()
      const key = { partnerId, id: newId() }
      const { customerType } = customer
      const content = {
        customerType,
        subject: selectComparedFields(customer.kyc, kinds),
        returnUrl,
        url: null,
        evidence: null,
      }
      const row: store.IdentityRow = {
        ...key,
        customerId: customer.id,
        kinds,
        status: 'Pending',
        reason: null,
        provider: calls.id,
        providerSession: null,
        providerVersion: 0n,
        contentSealed: contents.seal(key, content),
        sessionExpiresAt: null,
        validUntil: null,
        inForce: false,
        attempts: 0,
        dueAt: now,
        leaseId: null,
        createdAt: now,
        updatedAt: now,
        decidedAt: null,
      }
      await store.insertVerification(tx, row)
      const { contentSealed: _sealed, ...shown } = row
      return { ...shown, url: null, evidence: null }
    })
}

// Erasures at identity providers: requests the erasure of a session until the provider has erased it or refuses.

type ProviderErasureDeps = Pick<StepDeps, 'db' | 'clock' | 'log' | 'calls'> & {
  readonly audit: Pick<Audit, 'append'>
}

const partnersPerStepMax = 20
const rowsPerClaimMax = 5

/** Creates the step that erases sessions at the provider. It returns how many erasures it claimed. */
function createProviderErasures({ db, clock, log, calls, audit }: ProviderErasureDeps): () => Promise<number> {
  const erase = async ({ partnerId, id, provider, providerSession }: store.ErasureClaim): Promise<void> => {
    if (calls === null || calls.id !== provider) throw new Error(`the identity provider ${provider} is not configured`)
    await calls.erase({ reference: `${partnerId}.${id}`, providerSession })
  }
  /**
   * Records that a provider refused to erase its data. The row and the audit record remain, so that a person can follow
   * up with the provider.
   */
  const recordRefusal = (claim: store.ErasureClaim, error: IdentityRequestRefused) => {
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
      if (error instanceof IdentityRequestRefused) return recordRefusal(claim, error)
      log.warn(
        { err: error, partnerId, verificationId: id, provider },
        'erasure at the identity provider failed; will retry',
      )
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

/**
 * Creates the jobs of identity verifications: call the provider, expire verifications whose document has expired, and
 * erase sessions at the provider.
 */
export const identityJobs = ({
  step,
  eraseStep,
  expireStep,
  releaseLeases,
  oldestDue,
}: Pick<IdentityChecks, 'step' | 'eraseStep' | 'expireStep' | 'releaseLeases' | 'oldestDue'>): readonly Job[] => [
  defineJob({
    name: 'customers.identity_verifications',
    due: store.nextVerificationDue,
    run: step,
    releaseLeases: (partnerId) => releaseLeases(partnerId),
    age: { queue: 'identity_verifications', since: oldestDue },
  }),
  defineJob({ name: 'customers.identity_expiries', due: store.nextExpiryDue, run: expireStep }),
  defineJob({
    name: 'customers.identity_erasures',
    due: store.erasuresDue,
    run: eraseStep,
    age: { queue: 'identity_erasures' },
  }),
]
