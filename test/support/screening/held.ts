/** Money that comes in for a name on a list, and the decisions about it. */
import { readFile } from 'node:fs/promises'
import { operatorPartnerId } from '../../../service/src/cases/index.ts'
import { newId, present } from '../../../service/src/kernel/index.ts'
import { sql } from '../../../service/src/postgres/index.ts'
import {
  type Hit,
  type HitDisposition,
  allowedDispositions,
  type HitOutcome,
  readSanctionsList,
  type SanctionsList,
} from '../../../service/src/screening/index.ts'
import { addPartner, type Service } from '../composition.ts'

export const listedName = 'Borislav Tremurov'
export const amount = 500n

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield await readFile(new URL('../../../service/src/screening/samples/un.xml', import.meta.url))
}

export const sampleList = (): Promise<SanctionsList> => readSanctionsList(bytes())

/** Compares every name with the newest list. */
export async function screenAll({ screener }: Pick<Service, 'screener'>): Promise<void> {
  while ((await screener.sweepStep()) > 0);
  while ((await screener.screenStep()) > 0);
}

/** A partner whose customer has this name and an IBAN. Its names are screened. */
export async function addHolder(service: Service, fullName: string) {
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  await service.customers.update(partnerId, customer.id, { kyc: { fullName } })
  const { iban } = (await service.accounts.create(partnerId, customer.id)).ibans[0]
  await screenAll(service)
  return { ...partner, iban }
}

/** The sandbox bank books money on an account. It reports that after its time. `from`: what is known of the payer's account. */
export async function sendCredit(
  service: Service,
  account: string,
  payer = 'Grace Hopper',
  from: Readonly<Partial<Record<'account' | 'bic' | 'countryCode', string>>> = {},
  remittance: string | null = null,
): Promise<string> {
  const creditId = newId()
  const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: payer, countryCode: 'DE', address: null, ...from }
  const money = { currency: 'EUR', amount } as const
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, creditId, {
      account,
      money,
      debtor,
      remittance,
      endToEndId: 'E2E-1',
    }),
  )
  return creditId
}

/** A finding that fits the list and the outcome. */
export const dispositionFor = ({ source }: Pick<Hit, 'source'>, outcome: HitOutcome): HitDisposition =>
  present(allowedDispositions(source, outcome)[0], `a finding to ${outcome}`)

/** Two persons decide about every open hit of the partner. Answers how many decisions were taken. */
export async function decideAll(
  { screening, db }: Pick<Service, 'screening' | 'db'>,
  partnerId: string,
  outcome: 'clear' | 'confirm',
): Promise<number> {
  const hits = (await screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
  let taken = 0
  for (const hit of hits)
    for (const staff of ['Sam Staff', 'Kim Staff']) {
      const disposition = dispositionFor(hit, outcome)
      const deciding = { partnerId, id: hit.id, outcome, disposition, staff, note: 'Compared with the passport.' }
      // The first person decides alone below a score of 95, and the second one is refused.
      await db
        .transaction((tx) => screening.decide(tx, deciding))
        .then(
          () => (taken += 1),
          () => undefined,
        )
    }
  return taken
}

/** Reads a partner's deposits and money from outside. */
export async function depositState(service: Service, partnerId: string) {
  const { db } = service
  const rows = await db.rows<{ status: string; reference: string }>(
    sql`select status, reference from deposits.deposits where partner_id = ${partnerId} order by id`,
  )
  const accounts = await db.rows<{ name: string; posted: bigint }>(
    sql`select name, posted from ledger.accounts where partner_id = ${partnerId} and currency = 'EUR'`,
  )
  const postedOf = (name: string) => accounts.find((account) => account.name === name)?.posted ?? 0n
  const open = (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)
  return {
    statuses: rows.map(({ status }) => status),
    references: rows.map(({ reference }) => reference),
    balance: postedOf('balance'),
    suspense: postedOf('suspense'),
    settlement: postedOf('settlement.sandbox'),
    openCases: open.map(({ kind, booked }) => `${kind} ${booked}`),
  }
}
