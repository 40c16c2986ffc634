/** The modulus check of British accounts: loads its tables, and checks accounts by them. */
import { hash } from 'node:crypto'
import { refuseField } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { readDomestic } from '../../rails/index.ts'
import { readSubstitutes, readWeights } from './modulus-file.ts'
import { modulusOf } from './modulus-rules.ts'
import * as store from './store-bics.ts'

export type LoadedModulusTable = store.ModulusTable & {
  /** The files are those that were loaded last: nothing has changed. */
  readonly isRepetition: boolean
}

export type ModulusTables = {
  /** Replaces the tables, whole; `recorded` joins the transaction. Throws ModulusFileProblem, with `file` as it was given. */
  readonly load: (
    files: { readonly weights: string; readonly substitutes: string },
    staff: string,
    recorded: (tx: Tx) => Promise<void>,
  ) => Promise<LoadedModulusTable>
  /** Undefined: none was loaded, so that no number is checked. */
  readonly current: (tx: Tx) => Promise<store.ModulusTable | undefined>
}

export const createModulusTables = ({
  db,
  clock,
}: {
  readonly db: Database
  readonly clock: Clock
}): ModulusTables => ({
  load: async (files, staff, recorded) => {
    const [weights, substitutes] = [readWeights(files.weights), readSubstitutes(files.substitutes)]
    const digest = hash('sha256', `${files.weights}\n${files.substitutes}`)
    return db.transaction(async (tx) => {
      await store.lockModulusTables(tx)
      const before = await store.currentModulusTable(tx)
      if (before?.hash === digest) return { ...before, isRepetition: true }
      const counts = { ranges: weights.length, substitutes: substitutes.length }
      const table = {
        version: (before?.version ?? 0) + 1,
        hash: digest,
        loadedAt: clock.now(),
        loadedBy: staff,
        ...counts,
      }
      await store.replaceModulusTables(tx, { table, weights, substitutes })
      await recorded(tx)
      return { ...table, isRepetition: false }
    })
  },
  current: store.currentModulusTable,
})

/** Refuses (400, /accountNumber) a British account number that cannot belong to its sort code. */
export async function refuseWrongModulus(tx: Tx, domesticAccount: string | null): Promise<void> {
  const account = domesticAccount === null ? undefined : readDomestic(domesticAccount)
  if (account?.system !== 'GBDSC') return
  const rows = await store.weightsOf(tx, account.sortCode)
  const substitutes = rows.some(({ exception }) => exception === 5)
    ? await store.substitutesOf(tx, account.sortCode)
    : []
  if (modulusOf(account, rows, substitutes) !== 'invalid') return
  throw refuseField({
    pointer: '/accountNumber',
    code: 'invalid_value',
    message: 'does not belong to the sort code (UK modulus check); compare both with those of the payee',
  })
}
