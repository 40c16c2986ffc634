/** All SQL of what incoming payments lack about their payers, and of the operator's rules about it. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { acrossPartners, columnOf, insertBy, ofPartners, type RowOf, sql, type Tx } from '../../postgres/index.ts'
import type { PayerRegion } from '../../rails/index.ts'
import type { DepositKey } from './store.ts'

export const payerMeasures = ['accept', 'ask', 'reject'] as const
export type PayerMeasure = (typeof payerMeasures)[number]

/** `above`: the rule is for larger amounts. `answerDays`: how long an answer is waited for, if the measure is `ask`. */
export type PayerRule = {
  readonly region: PayerRegion
  readonly currency: Currency
  readonly above: Minor
  readonly measure: PayerMeasure
  readonly answerDays: number
}

/** The rules hold for all partners. There are few. */
export function payerRules(tx: Tx): Promise<readonly PayerRule[]> {
  return tx.rows<PayerRule>(sql`/* deposits.payerRules */
    select region, currency, above, measure, answer_days from deposits.payer_rules order by region, currency, above`)
}

export async function setPayerRule(tx: Tx, rule: PayerRule, now: Date): Promise<void> {
  const { region, currency, above, measure, answerDays } = rule
  await tx.run(sql`/* deposits.setPayerRule */
    insert into deposits.payer_rules (region, currency, above, measure, answer_days, set_at)
    values (${region}, ${currency}, ${above}, ${measure}, ${answerDays}, ${now})
    on conflict (region, currency, above) do update set measure = excluded.measure, answer_days = excluded.answer_days,
      set_at = excluded.set_at`)
}

export function removePayerRule(
  tx: Tx,
  { region, currency, above }: Pick<PayerRule, 'region' | 'currency' | 'above'>,
): Promise<number> {
  return tx.run(sql`/* deposits.removePayerRule */
    delete from deposits.payer_rules where region = ${region} and currency = ${currency} and above = ${above}`)
}

const types = {
  partnerId: 'uuid',
  /** The deposit. */
  id: 'uuid',
  bank: 'text',
  region: 'text',
  currency: 'text',
  amount: 'bigint',
  /** Names of data, with spaces between. */
  lacks: 'text',
  measure: 'text',
  answerBy: 'timestamptz?',
  decision: 'text?',
  foundAt: 'timestamptz',
} as const
export type PayerCheck = RowOf<
  typeof types,
  { region: PayerRegion; currency: Currency; measure: PayerMeasure; decision: 'received' | 'refused' }
>
const columns = sql`partner_id, id, bank, region, currency, amount, lacks, measure, answer_by, decision, found_at`

const newChecks = insertBy<PayerCheck>(types, [['partnerId']])

/** A further part of a deposit replaces what was found about the one before. The caller holds the deposits. */
export async function insertPayerChecks(tx: Tx, rows: readonly PayerCheck[]): Promise<void> {
  if (rows.length === 0) return
  await tx.run(sql`/* deposits.insertPayerChecks */
    insert into deposits.payer_checks (${columns}) ${newChecks(tx, rows)}
    on conflict (partner_id, id) do update set bank = excluded.bank, region = excluded.region, amount = excluded.amount,
      lacks = excluded.lacks, measure = excluded.measure, answer_by = excluded.answer_by, decision = null, decided_at = null,
      found_at = excluded.found_at`)
}

export function payerChecksOf(tx: Tx, keys: readonly DepositKey[]): Promise<readonly PayerCheck[]> {
  const column = columnOf(keys)
  return tx.rows<PayerCheck>(sql`/* deposits.payerChecksOf */
    select ${columns} from deposits.payer_checks
    where ${ofPartners(column('partnerId'))} and id = any(${column('id')}::uuid[])`)
}

export async function decidePayerCheck(
  tx: Tx,
  { partnerId, id }: DepositKey,
  decision: 'received' | 'refused',
  now: Date,
): Promise<void> {
  await tx.run(sql`/* deposits.decidePayerCheck */
    update deposits.payer_checks set decision = ${decision}, decided_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Writes what an answer says about the payer of a deposit, and makes its next look due. */
export async function writeDebtor(tx: Tx, { partnerId, id }: DepositKey, debtor: string | null, now: Date): Promise<void> {
  await tx.run(sql`/* deposits.writeDebtor */
    update deposits.deposits set debtor = coalesce(${debtor}, debtor), screening_due_at = ${now}, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status = 'Screening'`)
}

/** Writes what an answer says about the payer of a part. */
export async function writePartReport(tx: Tx, partnerId: string, id: string, report: string): Promise<void> {
  await tx.run(sql`/* deposits.writePartReport */
    update deposits.parts set report = ${report} where partner_id = ${partnerId} and id = ${id}`)
}

/** Deposits whose money waits for an answer, the next deadline first. */
export function waitingPayerChecks(tx: Tx, rowsMax: number): Promise<readonly PayerCheck[]> {
  return tx.rows<PayerCheck>(
    acrossPartners(
      'lists deposits that wait for data of their payers, by an index',
      sql`/* deposits.waitingPayerChecks */ select ${columns} from deposits.payer_checks
        where decision is null and measure = 'ask' order by answer_by limit ${rowsMax}`,
    ),
  )
}

export type FailingBank = {
  readonly bank: string
  readonly region: PayerRegion
  readonly payments: bigint
  readonly partners: bigint
  readonly accepted: bigint
  readonly asked: bigint
  readonly rejected: bigint
  readonly answered: bigint
  readonly lastAt: Date
}

/** The banks whose payments lacked data since a time, the most frequent first (article 8(2)). */
export function failingBanks(tx: Tx, since: Date, rowsMax: number): Promise<readonly FailingBank[]> {
  return tx.rows<FailingBank>(
    acrossPartners(
      'counts payments of banks that lack data of their payers, by an index',
      sql`/* deposits.failingBanks */
        select bank, region, count(*) as payments, count(distinct partner_id) as partners,
          count(*) filter (where measure = 'accept') as accepted, count(*) filter (where measure = 'ask') as asked,
          count(*) filter (where measure = 'reject') as rejected, count(*) filter (where decision = 'received') as answered,
          max(found_at) as last_at
        from deposits.payer_checks where found_at >= ${since}
        group by bank, region order by payments desc, bank limit ${rowsMax}`,
    ),
  )
}
