/** IBANs of a bank's file: a pool of the partner, which comes before the pool that all partners share. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kycOf } from '../people.ts'
import { sam } from '../staff.ts'
import { type Chapter, present } from './stage.ts'

/** Accounts have an IBAN of this country from pools, in addition to those that are made from ranges. */
const country = 'LV'

/** The settings of a service that takes IBANs from pools. It opens no account before a pool is there (`importShared`). */
export const poolSettings = { IBAN_POOLS: country } as const

/** 13 digits behind an invented bank code, with check digits of ISO 13616. */
function ibanOf(bankCode: string, number: number): string {
  const bban = `${bankCode}${String(number).padStart(13, '0')}`
  const digits = `${bban}${country}00`.replaceAll(/[A-Z]/g, (letter) => String(Number.parseInt(letter, 36)))
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, '0')}${bban}`
}
const ibansOf = (bankCode: string, count: number) =>
  Array.from({ length: count }, (_, index) => ibanOf(bankCode, index + 1))

type Operator = (...words: readonly string[]) => Promise<unknown>

async function importFile(
  operator: Operator,
  folder: string,
  pool: string,
  ibans: readonly string[],
  of: readonly string[],
) {
  const file = join(folder, `${pool}.csv`)
  await writeFile(file, `${ibans.join('\n')}\n`)
  return operator('ibans', 'import', '--file', file, '--pool', pool, '--staff', sam, ...of)
}

/** The pool that all partners share. */
export const importShared = (operator: Operator, folder: string): Promise<unknown> =>
  importFile(operator, folder, 'shared', ibansOf('DEMO', 100), [])

export const ibans: Chapter = {
  name: 'ibans',
  title: "IBANs of a bank's file, and what is left of them",
  run: async ({ client, partnerId, operator, folder, say, show }) => {
    say('A bank has given the partner two IBANs. The operator imports its file.')
    const own = ibansOf('FIRM', 2)
    await importFile(operator, folder, 'own', own, ['--partner', partnerId])
    const opened: string[] = []
    for (const email of ['ada@example.com', 'grace@example.com', 'hedy@example.com']) {
      const { guid } = await client.customers.create({ email, kyc: kycOf('Ada Lovelace') })
      const { ibans: given } = await client.accounts.createForCustomer(guid)
      opened.push(
        present(
          given.find((each) => each.country === country),
          `an IBAN of ${country}`,
        ).iban,
      )
    }
    show('the first two accounts', opened.slice(0, 2).join(', '), own.join(', '))
    show('the third takes one of the shared pool', opened[2]?.slice(4, 8) ?? '', 'DEMO')
    const pools = await operator<readonly Pool[]>('ibans', 'list')
    const left = present(
      pools.find(({ partnerId: owner }) => owner === partnerId),
      'the pool of the partner',
    )
    show('what is left of the own pool', `${left.free} of ${left.free + left.given}`, '0 of 2')
  },
}
type Pool = { readonly partnerId: string | null; readonly free: number; readonly given: number }
