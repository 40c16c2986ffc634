/** The verbs of customers. KYC is opened here and nowhere below. */
import { serviceIdPattern, uuidPattern } from '@partner-payments/wire'
import { type Cursors, notFound, type Page } from '../../api/index.ts'
import { type Clock, newId, partnerKey, randomText, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import {
  type CustomerCreate,
  type CustomerType,
  type CustomerUpdate,
  deriveType,
  type KycFields,
  mergeKyc,
  refuseBadKyc,
  refuseEmptyCreate,
  refuseEmptyUpdate,
} from './rules.ts'
import * as store from './store.ts'

export type Customer = {
  /** The `guid` of the wire. */
  readonly id: string
  readonly serviceId: string
  readonly partnerCustomerIdentifier: string | null
  readonly email: string | null
  readonly customerType: CustomerType
  /** With `personalIdentificationNumber`, which never leaves the service. */
  readonly kyc: KycFields
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What events tell of the customer for whom money moves: all that they tell of KYC is the citizenship. */
export type Payer = Pick<Customer, 'id' | 'serviceId' | 'partnerCustomerIdentifier' | 'email'> & {
  readonly citizenshipCountryCode: string | null
}

export type CustomerList = store.CustomerFilter & { readonly limit?: string; readonly cursor?: string }

export type Customers = {
  /** Refuses: validation_failed (empty, no date, no country). */
  readonly create: (partnerId: string, input: CustomerCreate) => Promise<Customer>
  /** Newest first. `email` is compared without regard to case. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: CustomerList) => Promise<Page<Customer>>
  /** Refuses: not_found. */
  readonly get: (partnerId: string, ref: string) => Promise<Customer>
  /** Merges: given is set, null clears, absent stays. Refuses: not_found, validation_failed (empty, date, country). */
  readonly update: (partnerId: string, ref: string, input: CustomerUpdate) => Promise<Customer>
  /** For other modules: by guid or serviceId, as a request names it. Refuses: not_found, with `pointer` where given. */
  readonly find: (tx: Tx, partnerId: string, ref: string, pointer?: string) => Promise<Customer>
  /** For batches of payments, by `partnerKey(partnerId, guid)`: one that does not exist or is another's is not among them. */
  readonly payersByIds: (
    tx: Tx,
    keys: readonly { readonly partnerId: string; readonly id: string }[],
  ) => Promise<ReadonlyMap<string, Payer>>
  /** For filters: the guid of a guid or serviceId, undefined where there is no such customer. Opens no KYC. */
  readonly idOf: (tx: Tx, partnerId: string, ref: string) => Promise<string | undefined>
}

/** Some 20 MB. */
const citizenshipsMax = 100_000

const guid = new RegExp(uuidPattern)
const serviceId = new RegExp(serviceIdPattern)

function refKind(ref: string): store.CustomerRefKind | undefined {
  if (guid.test(ref)) return { kind: 'guid', value: ref }
  return serviceId.test(ref) ? { kind: 'serviceId', value: ref } : undefined
}

export function createCustomers(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly cursors: Cursors
}): Customers {
  const { db, clock, sealer, cursors } = deps

  const context = (partnerId: string, id: string) => ['customers.kyc', partnerId, id]
  const seal = (partnerId: string, id: string, kyc: KycFields) =>
    sealer.seal(JSON.stringify(kyc), context(partnerId, id))
  const toCustomer = (partnerId: string, { kycSealed, ...row }: store.CustomerRow): Customer => ({
    ...row,
    kyc: JSON.parse(sealer.open(kycSealed, context(partnerId, row.id))) as KycFields,
  })
  /** Nothing but the country of an opened KYC is kept, for as long as the same sealing is stored. */
  const citizenships = new Map<string, { readonly mark: string; readonly country: string | null }>()
  const toPayer = (name: string, { partnerId, kycSealed, ...row }: store.PayerRow): Payer => {
    const mark = sealer.mark(kycSealed)
    const kept = citizenships.get(name)
    if (kept?.mark === mark) return { ...row, citizenshipCountryCode: kept.country }
    const kyc = JSON.parse(sealer.open(kycSealed, context(partnerId, row.id))) as KycFields
    const country = kyc.citizenshipCountryCode ?? null
    if (citizenships.size >= citizenshipsMax) citizenships.clear()
    citizenships.set(name, { mark, country })
    return { ...row, citizenshipCountryCode: country }
  }
  const listName = (partnerId: string) => `customers:${partnerId}`

  const find: Customers['find'] = async (tx, partnerId, ref, pointer) => {
    const kind = refKind(ref)
    const row = kind && (await store.byRef(tx, partnerId, kind))
    if (row === undefined) throw notFound('customer', pointer)
    return toCustomer(partnerId, row)
  }

  return {
    create: async (partnerId, input) => {
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
      await store.insert(db, partnerId, { ...row, kycSealed: seal(partnerId, id, kyc) })
      return { ...row, kyc }
    },
    list: async (partnerId, query) => {
      const request = cursors.read(listName(partnerId), query)
      const rows = await store.list(db, partnerId, query, request)
      const page = cursors.page(listName(partnerId), request, rows)
      return { ...page, data: page.data.map((row) => toCustomer(partnerId, row)) }
    },
    get: (partnerId, ref) => find(db, partnerId, ref),
    update: async (partnerId, ref, input) => {
      refuseEmptyUpdate(input)
      const kind = refKind(ref)
      return db.transaction(async (tx) => {
        const row = kind && (await store.lockByRef(tx, partnerId, kind))
        if (row === undefined) throw notFound('customer')
        // Read under the lock, so that updates that took turns carry their times in that order.
        const now = clock.now()
        refuseBadKyc(input.kyc, now)
        const { kyc: kept, ...before } = toCustomer(partnerId, row)
        const kyc = mergeKyc(kept, input.kyc)
        const after = {
          ...before,
          email: input.email === undefined ? before.email : input.email,
          partnerCustomerIdentifier:
            input.partnerCustomerIdentifier === undefined
              ? before.partnerCustomerIdentifier
              : input.partnerCustomerIdentifier,
          updatedAt: now > before.updatedAt ? now : before.updatedAt,
        }
        await store.update(tx, partnerId, { ...after, kycSealed: seal(partnerId, row.id, kyc) })
        return { ...after, kyc }
      })
    },
    find,
    payersByIds: async (tx, keys) => {
      if (keys.length === 0) return new Map()
      const rows = await store.payersByIds(tx, keys)
      return new Map(
        rows.map((row) => {
          const name = partnerKey(row.partnerId, row.id)
          return [name, toPayer(name, row)]
        }),
      )
    },
    idOf: async (tx, partnerId, ref) => {
      const kind = refKind(ref)
      return kind && store.idByRef(tx, partnerId, kind)
    },
  }
}
