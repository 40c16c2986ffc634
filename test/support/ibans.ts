/** Files of IBANs as a bank gives them. */
import { createHash } from 'node:crypto'
import { type IbanFile } from '../../service/src/accounts/imported.ts'
import { composeIban } from '../../service/src/accounts/rules.ts'
import type { BadLine } from '../../service/src/accounts/index.ts'
import type { Service } from './composition.ts'

/** IBANs of an account number and its successors, all of one bank. */
export const ibansFrom = (first: number, count: number, issuer = { country: 'DE', bankCode: '50010517' }) =>
  Array.from({ length: count }, (_, at) => composeIban(issuer, first + at))

/** Imports lines into a pool, and answers the bad ones as well. */
export async function importIbans(
  { accounts, access, db }: Service,
  pool: string,
  lines: readonly string[],
  about: Partial<Pick<IbanFile, 'partnerId' | 'currency' | 'connector' | 'skipsBad'>> = {},
) {
  const bad: BadLine[] = []
  const file: IbanFile = {
    ...{ partnerId: undefined, pool, currency: 'EUR', connector: null, staff: 'Sam Staff', skipsBad: false },
    ...about,
    hash: createHash('sha256').update(lines.join('\n')).digest('hex'),
    lines: async function* () {
      yield* lines
    },
    report: async (page) => void bad.push(...page),
  }
  const imported = await db.transaction(async (tx) => {
    await access.addOperator(tx, '00000000-0000-8000-8000-000000000000')
    return accounts.pools.importFile(tx, file)
  })
  return { ...imported, badLines: bad }
}
