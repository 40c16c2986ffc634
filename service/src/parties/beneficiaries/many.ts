/** Payees by the hundred, for bulks and imports: finds them by their texts and accounts, and judges new ones without making them. */
import { Refusal } from '../../kernel/api/index.ts'
import { type Clock, isUuid, newId } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Screening } from '../../screening/index.ts'
import { judgeBic, readKnownBics } from './bics.ts'
import { readModulus } from './modulus.ts'
import { type BeneficiaryCreate, readDestination, refuseAddress, refuseCountry, type RefusedAddress } from './rules.ts'
import * as store from './store.ts'
import { answersAbout, type VerificationRow } from './store-verifications.ts'

export type ManyBeneficiaries = {
  /** The partner's own payees whose short name or name is one of the texts, without case, and any payee whose id is one. Oldest first. */
  readonly byTexts: (partnerId: string, texts: readonly string[]) => Promise<readonly store.Beneficiary[]>
  /**
   * Judges payees as `create` would judge them now, in a bounded number of statements, and makes none. Returns for each the payee that it
   * would be, or the refusal. The id is new each time.
   */
  readonly assess: (inputs: readonly BeneficiaryCreate[]) => Promise<readonly (store.Beneficiary | Refusal)[]>
  /** The newest answers about names and IBANs. Pairs without an answer are absent. */
  readonly answersAbout: (
    partnerId: string,
    payees: readonly { readonly name: string; readonly iban: string }[],
  ) => Promise<readonly VerificationRow[]>
  /** Payees with these accounts, of the partner and of all its customers. Oldest first. */
  readonly atAccounts: (partnerId: string, accounts: readonly string[]) => Promise<readonly store.Beneficiary[]>
  /** Payees by id, removed ones included: bulks that were made name them. */
  readonly withIds: (partnerId: string, ids: readonly string[]) => Promise<readonly store.HeldPayee[]>
  /** Payees of the partner and its customers with an account, removed ones included, newest first. */
  readonly withAccount: (partnerId: string, account: string, rowsMax: number) => Promise<readonly store.HeldPayee[]>
}

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly refusedAddress: RefusedAddress
  readonly screening: Pick<Screening, 'countries'>
}

export function createManyBeneficiaries({ db, clock, refusedAddress, screening }: Deps): ManyBeneficiaries {
  return {
    byTexts: (partnerId, texts) => {
      const ids = texts.map((text) => text.toLowerCase()).filter(isUuid)
      return texts.length === 0 ? Promise.resolve([]) : store.byTexts(db, partnerId, texts, ids)
    },
    assess: async (inputs) => {
      const read = inputs.map((input) =>
        orRefusal(() => {
          const destination = readDestination(input)
          refuseAddress(destination, refusedAddress)
          return { input, destination }
        }),
      )
      const right = read.flatMap((each) => (each instanceof Refusal ? [] : [each.destination]))
      const [bicOf, refuseModulus, countries] = await Promise.all([
        readKnownBics(
          db,
          right.flatMap(({ iban }) => iban ?? []),
        ),
        readModulus(
          db,
          right.flatMap(({ domesticAccount }) => domesticAccount ?? []),
        ),
        screening.countries.recent(db),
      ])
      const now = clock.now()
      return read.map((each) =>
        each instanceof Refusal
          ? each
          : orRefusal(() => {
              const { input, destination } = each
              if (destination.domesticAccount !== null) refuseModulus(destination.domesticAccount)
              const { bic } = judgeBic(destination, bicOf, now)
              const named = { id: newId(), customerId: null, alias: input.alias ?? null, name: input.name }
              const row = { ...destination, ...named, bic, createdAt: now, updatedAt: now }
              refuseCountry(row, input, countries)
              return row
            }),
      )
    },
    answersAbout: (partnerId, payees) =>
      payees.length === 0 ? Promise.resolve([]) : answersAbout(db, partnerId, payees),
    atAccounts: (partnerId, accounts) =>
      accounts.length === 0 ? Promise.resolve([]) : store.atAccounts(db, partnerId, accounts),
    withIds: (partnerId, ids) => (ids.length === 0 ? Promise.resolve([]) : store.withIds(db, partnerId, ids)),
    withAccount: (partnerId, account, rowsMax) => store.withAccount(db, partnerId, account, rowsMax),
  }
}

function orRefusal<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}
