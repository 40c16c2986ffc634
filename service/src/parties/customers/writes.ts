/** Creates and changes customers. Each write also updates the history, the index of names and the screening in its transaction. */
import { notFound, Refusal } from '../../kernel/api/index.ts'
import { type Clock, newId, randomText } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import type { Screening } from '../../screening/index.ts'
import { type Customer, toCustomer } from './customer.ts'
import type { Actor, History } from './history.ts'
import { type KycSealer, parseCustomerRef } from './sealed.ts'
import type { NameIndex } from './name-index.ts'
import {
  type CustomerCreate,
  type CustomerUpdate,
  deriveType,
  type KycFields,
  mergeKyc,
  refuseBadKyc,
  requireAcceptedCountries,
  refuseEmptyCreate,
  refuseEmptyUpdate,
  screenedCountries,
  screenedData,
  screenedNames,
} from './rules.ts'
import * as store from './store.ts'
import { computeState, type ReadProofs } from './verification-states.ts'

export type WritesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly screening: Pick<Screening, 'request' | 'countries' | 'holdsOf'>
  readonly identifiers: IdentifierUse
  readonly proofsOf: ReadProofs
}

/** The operations that change customers. */
export type Writes = {
  /** Creates a customer. Refuses: validation_failed (empty, invalid date, invalid country), customer_exists (partnerCustomerIdentifier), country_not_supported. */
  readonly create: (partnerId: string, input: CustomerCreate, tx?: Tx, by?: Actor) => Promise<Customer>
  /**
   * Merges the input: a value sets a field, null clears it, an absent field stays. Refuses: not_found, customer_exists, validation_failed (empty,
   * date, country), country_not_supported.
   */
  readonly update: (partnerId: string, ref: string, input: CustomerUpdate, by?: Actor) => Promise<Customer>
  /**
   * Checks KYC and identifiers as `create` and `update` would now, in this order, without writing. Returns for each
   * input the refusal (validation_failed, country_not_supported, customer_exists) or undefined.
   */
  readonly assess: (partnerId: string, inputs: readonly AssessedInput[]) => Promise<readonly (Refusal | undefined)[]>
}

/** `before`: the existing customer of an update. */
type AssessedInput = {
  readonly before?: { readonly id: string; readonly kyc: KycFields } | undefined
  readonly input: CustomerUpdate
}

/** The index and the history, which each write updates in its transaction. */
type Records = { readonly names: NameIndex; readonly history: History }

export function createCustomer(
  { db, clock, screening, identifiers, proofsOf }: WritesDeps,
  kycSealer: KycSealer,
  { names, history }: Records,
): Writes['create'] {
  const takeIdentifier = createTakeIdentifier(identifiers)
  return async (partnerId, input, outerTx, by) => {
    const now = clock.now()
    refuseEmptyCreate(input)
    refuseBadKyc(input.kyc, now)
    const kyc = mergeKyc({}, input.kyc)
    const id = newId()
    const row = {
      id,
      serviceId: `cus_${randomText(16)}`,
      partnerCustomerIdentifier: input.partnerCustomerIdentifier ?? null,
      email: input.email ?? null,
      customerType: input.customerType ?? deriveType(kyc),
      createdAt: now,
      updatedAt: now,
    }
    await inTransaction(db, outerTx, async (tx) => {
      requireAcceptedCountries({}, kyc, await screening.countries.recent(tx))
      await takeIdentifier(tx, partnerId, id, row.partnerCustomerIdentifier)
      const nameTokens = await names.computeTokens(tx, partnerId, kyc)
      const kycSealed = kycSealer.seal(partnerId, id, kyc)
      // A new customer does not have proofs yet.
      const proofs = (await proofsOf(tx, partnerId, []))(id)
      const judged = computeState(kyc, row.customerType, now, proofs)
      await store.insert(tx, partnerId, { ...row, ...judged, nameTokens, kycSealed })
      await names.replace(tx, partnerId, id, { before: [], after: nameTokens })
      const change = { customerId: id, before: undefined, after: { ...row, kyc }, changedAt: now, by }
      await history.append(tx, partnerId, change)
      await screening.request(tx, { partnerId, kind: 'customer', id })
    })
    return { ...row, kyc }
  }
}

export function updateCustomer(
  { db, clock, screening, identifiers, proofsOf }: WritesDeps,
  kycSealer: KycSealer,
  { names, history }: Records,
): Writes['update'] {
  const takeIdentifier = createTakeIdentifier(identifiers)
  return async (partnerId, ref, input, by) => {
    refuseEmptyUpdate(input)
    const kind = parseCustomerRef(ref)
    return db.transaction(async (tx) => {
      const locked = kind && (await store.lockByRef(tx, partnerId, kind))
      if (locked === undefined) throw notFound('customer')
      const { nameTokens: tokensBefore, ...row } = locked
      // Read under the lock, so that the times of concurrent updates follow the order of the lock.
      const now = clock.now()
      refuseBadKyc(input.kyc, now)
      const { kyc: kycBefore, ...before } = toCustomer(kycSealer, partnerId, row)
      const kyc = mergeKyc(kycBefore, input.kyc)
      requireAcceptedCountries(kycBefore, kyc, await screening.countries.recent(tx))
      const { email = before.email, partnerCustomerIdentifier = before.partnerCustomerIdentifier } = input
      if (partnerCustomerIdentifier !== before.partnerCustomerIdentifier)
        await takeIdentifier(tx, partnerId, row.id, partnerCustomerIdentifier)
      const updatedAt = now > before.updatedAt ? now : before.updatedAt
      const after = { ...before, email, partnerCustomerIdentifier, updatedAt }
      const nameTokens = await names.computeTokens(tx, partnerId, kyc)
      const kycSealed = kycSealer.seal(partnerId, row.id, kyc)
      const proofs = (await proofsOf(tx, partnerId, [row.id]))(row.id)
      const judged = computeState(kyc, row.customerType, now, proofs)
      await store.update(tx, partnerId, { ...after, ...judged, nameTokens, kycSealed })
      await names.replace(tx, partnerId, row.id, { before: tokensBefore ?? [], after: nameTokens })
      await history.append(tx, partnerId, {
        customerId: row.id,
        before: { ...before, kyc: kycBefore },
        after: { ...after, kyc },
        changedAt: updatedAt,
        by,
      })
      const namesBefore = screenedNames(kycBefore)
      const hasChanged = (read: (fields: typeof kyc) => unknown) =>
        JSON.stringify(read(kyc)) !== JSON.stringify(read(kycBefore))
      if ([screenedNames, screenedCountries, screenedData].some(hasChanged))
        await screening.request(tx, { partnerId, kind: 'customer', id: row.id }, namesBefore)
      return { ...after, kyc }
    })
  }
}

export function assessCustomers({ db, clock, screening, identifiers }: WritesDeps): Writes['assess'] {
  return async (partnerId, inputs) => {
    const now = clock.now()
    const rules = await screening.countries.recent(db)
    const given = inputs.flatMap(({ input }) => input.partnerCustomerIdentifier ?? [])
    const known =
      identifiers === 'shared' || given.length === 0 ? [] : await store.customersWithIdentifiers(db, partnerId, given)
    const holders = new Map(known.toReversed().map((row) => [row.partnerCustomerIdentifier, row.id]))
    return inputs.map(({ before, input: { kyc, partnerCustomerIdentifier: identifier } }) => {
      const kycBefore = before?.kyc ?? {}
      try {
        refuseBadKyc(kyc, now)
        requireAcceptedCountries(kycBefore, mergeKyc(kycBefore, kyc), rules)
        if (typeof identifier !== 'string' || identifiers === 'shared') return undefined
        const holder = holders.get(identifier)
        if (holder !== undefined && holder !== before?.id) return identifierTaken(holder)
        holders.set(identifier, before?.id ?? '')
        return undefined
      } catch (error) {
        if (error instanceof Refusal) return error
        throw error
      }
    })
  }
}

// Identifiers: each names one customer of a partner, unless the installation lets several customers share one.

type IdentifierUse = 'unique' | 'shared'

/**
 * Creates the check that an identifier is free, which locks it until the transaction ends. Refuses: customer_exists, with the customer that
 * has it.
 */
const createTakeIdentifier =
  (use: IdentifierUse) =>
  async (tx: Tx, partnerId: string, customerId: string, identifier: string | null): Promise<void> => {
    if (identifier === null || use === 'shared') return
    await store.lockIdentifier(tx, partnerId, identifier)
    const other = await store.otherWithIdentifier(tx, partnerId, customerId, identifier)
    if (other !== undefined) throw identifierTaken(other.id)
  }

const identifierTaken = (id: string) =>
  new Refusal(
    'customer_exists',
    `The customer ${id} already has this identifier. Use that customer, or send another identifier.`,
    {
      errors: [
        {
          pointer: '/partnerCustomerIdentifier',
          code: 'exists',
          message: `is already the identifier of customer ${id}`,
        },
      ],
    },
  )
