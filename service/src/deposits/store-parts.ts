/** All SQL of parts: the bank credits of a deposit that is paid in parts. */
import {
  acrossPartners,
  columnValues,
  erasePersonal,
  insertBy,
  ofPartners,
  type PersonalColumns,
  type RowOf,
  type Sql,
  sql,
  type Tx,
} from '../postgres/index.ts'
import type { Movement, PartReads } from '../transactions/index.ts'
import type { Currency, Minor, RowKey } from '../kernel/index.ts'
import type { PayerRegion } from '../rails/index.ts'
import type { DepositStatus } from './lifecycle.ts'

/**
 * `Held`: on the account `parts`. `Screening`: in suspense while a name is under review, with a case that has the id of
 * the part. `Suspended`: in suspense with a case, because the deposit ended before it was paid in full.
 */
export type PartStatus = 'Held' | 'Screening' | 'Credited' | 'Suspended' | 'Reversed'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  depositId: 'uuid',
  connector: 'text',
  /** The connector's id of the credit or of the report. */
  creditId: 'text',
  notificationId: 'text',
  /** The amount that counts, without a surplus. */
  amount: 'bigint',
  status: 'text',
  /** `PartReport` as JSON. Null: the customer was erased. */
  report: 'text?',
  receivedAt: 'timestamptz',
} as const
export type PartRow = RowOf<typeof types, { status: PartStatus }>
export type Part = PartRow & {
  readonly reversedAt: Date | null
  /** The notification that reversed the part. */
  readonly reversedBy: string | null
}

const columns = sql`partner_id, id, deposit_id, connector, credit_id, notification_id, amount, status, report, received_at`

const newParts = insertBy<PartRow>(types, [['partnerId'], ['connector', 'receivedAt']])

/** Inserts parts. A second part for the same credit is a unique violation (`parts_credit`). */
export async function insertParts(tx: Tx, rows: readonly PartRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.run(sql`/* deposits.insertParts */ insert into deposits.parts (${columns}) ${newParts(tx, rows)}`)
}

/** Reads the parts of deposits, oldest first. */
export async function readParts(tx: Tx, keys: readonly RowKey[]): Promise<readonly Part[]> {
  if (keys.length === 0) return []
  return tx.rows<Part>(sql`/* deposits.readParts */
    select ${columns}, reversed_at, reversed_by from deposits.parts
    where ${ofPartners(keys.map((key) => key.partnerId))} and deposit_id = any(${keys.map((key) => key.id)}::uuid[])
    order by id`)
}

export type PartStatusChange = Pick<PartRow, 'partnerId' | 'id' | 'status'>

/** Updates the statuses of parts. The caller holds the locks of the deposits. */
export async function updatePartStatuses(tx: Tx, moved: readonly PartStatusChange[]): Promise<void> {
  for (const [partnerId, ofPartner] of Map.groupBy(moved, (part) => part.partnerId))
    for (const [status, parts] of Map.groupBy(ofPartner, (part) => part.status))
      await tx.run(sql`/* deposits.updatePartStatuses */
        update deposits.parts set status = ${status}
        where partner_id = ${partnerId} and id = any(${parts.map(({ id }) => id)}::uuid[])`)
}

export async function markPartReversed(
  tx: Tx,
  { partnerId, id, status }: PartStatusChange,
  by: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* deposits.markPartReversed */
    update deposits.parts set status = ${status}, reversed_at = ${now}, reversed_by = ${by}
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Finds the deposit of which a credit is a part. */
export function findDepositOfPart(
  tx: Tx,
  connector: string,
  creditId: string,
): Promise<(RowKey & { readonly partId: string }) | undefined> {
  return tx.row(
    acrossPartners(
      'finds the deposit of a part, whose partner its reversal does not name, by an index',
      sql`/* deposits.findDepositOfPart */
        select partner_id, deposit_id as id, id as part_id from deposits.parts
        where credit_id = ${creditId} and connector = ${connector}`,
    ),
  )
}

/** Returns the given credits that are parts, whose money is in the ledger. */
function creditsInParts(
  tx: Tx,
  connector: string,
  creditIds: readonly string[],
): Promise<readonly { readonly creditId: string }[]> {
  return tx.rows(
    acrossPartners(
      'finds the parts of credits, whose partner the bank does not name, by an index',
      sql`/* deposits.creditsInParts */
        select credit_id from deposits.parts where credit_id = any(${creditIds}::text[]) and connector = ${connector}`,
    ),
  )
}

/**
 * A part counts from its arrival until it is reversed, even if its session ends. It does not count while its
 * payer is under review.
 */
const counts = sql`part.status in ('Held', 'Credited', 'Suspended')`
/** Selects the columns of `Movement`, for transaction monitoring. */
const movements = (partnerId: string, which: Sql): Sql => sql`/* deposits.movements */
  select part.id, deposit.transaction_id, deposit.reference, part.amount, deposit.currency, deposit.customer_id,
    nullif(part.report::json -> 'debtor' ->> 'account', '') as account, nullif(part.report::json -> 'debtor' ->> 'bic', '') as bic,
    part.received_at as created_at
  from deposits.deposits as deposit
  join deposits.parts as part on part.partner_id = ${partnerId} and part.deposit_id = deposit.id and ${counts}
  where deposit.partner_id = ${partnerId} and deposit.in_parts and ${which}`

export const partReads: PartReads = {
  areIn: (partnerId, reference) => sql`exists (/* deposits.areIn */
    select from deposits.deposits as deposit
    join deposits.parts as part on part.partner_id = ${partnerId} and part.deposit_id = deposit.id and ${counts}
    where deposit.partner_id = ${partnerId} and deposit.reference = ${reference} and deposit.in_parts)`,
  between: (partnerId, { customerId, sessionsFrom, from, to }) =>
    movements(
      partnerId,
      sql`deposit.customer_id = ${customerId} and deposit.id between ${sessionsFrom} and ${to}
        and part.id between ${from} and ${to}`,
    ),
}

export type PartMovement = Pick<
  Movement,
  'id' | 'transactionId' | 'reference' | 'amount' | 'currency' | 'customerId' | 'account' | 'bic' | 'createdAt'
>

/** Lists the parts of the sessions with these references, oldest first. */
export async function partMovements(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
): Promise<readonly PartMovement[]> {
  return references.length === 0
    ? []
    : tx.rows<PartMovement>(sql`/* deposits.partMovements */
        ${movements(partnerId, sql`deposit.reference = any(${[...references]}::text[])`)} order by part.id`)
}

const personal: PersonalColumns = { table: 'deposits.parts', by: 'deposit_id', erased: { report: null } }

/** Erases the payers of the parts of deposits. */
const eraseParts = (tx: Tx, partnerId: string, depositIds: readonly string[]) =>
  erasePersonal(tx, personal, partnerId, depositIds)

// All SQL of data that incoming payments lack about their payers, and of the operator's rules.

type PayerMeasure = 'accept' | 'ask' | 'reject'

/** `above`: the rule applies to larger amounts. `answerDays`: how long an answer may take, if the measure is `ask`. */
export type PayerRule = {
  readonly region: PayerRegion
  readonly currency: Currency
  readonly above: Minor
  readonly measure: PayerMeasure
  readonly answerDays: number
}

/** Reads the rules. They apply to all partners, and are few. */
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

const payerTypes = {
  partnerId: 'uuid',
  /** The id of the deposit. */
  id: 'uuid',
  bank: 'text',
  region: 'text',
  currency: 'text',
  amount: 'bigint',
  /** Names of the missing data, separated by spaces. */
  lacks: 'text',
  measure: 'text',
  answerBy: 'timestamptz?',
  decision: 'text?',
  foundAt: 'timestamptz',
} as const
export type PayerCheck = RowOf<
  typeof payerTypes,
  { region: PayerRegion; currency: Currency; measure: PayerMeasure; decision: 'received' | 'refused' }
>
const payerColumns = sql`partner_id, id, bank, region, currency, amount, lacks, measure, answer_by, decision, found_at`

const newChecks = insertBy<PayerCheck>(payerTypes, [['partnerId']])

/** Stores payer checks. The check of a new part replaces that of the deposit's previous part. The caller holds the locks of the deposits. */
export async function insertPayerChecks(tx: Tx, rows: readonly PayerCheck[]): Promise<void> {
  if (rows.length === 0) return
  await tx.run(sql`/* deposits.insertPayerChecks */
    insert into deposits.payer_checks (${payerColumns}) ${newChecks(tx, rows)}
    on conflict (partner_id, id) do update set bank = excluded.bank, region = excluded.region, amount = excluded.amount,
      lacks = excluded.lacks, measure = excluded.measure, answer_by = excluded.answer_by, decision = null, decided_at = null,
      found_at = excluded.found_at`)
}

export function readPayerChecks(tx: Tx, keys: readonly RowKey[]): Promise<readonly PayerCheck[]> {
  const column = columnValues(keys)
  return tx.rows<PayerCheck>(sql`/* deposits.readPayerChecks */
    select ${payerColumns} from deposits.payer_checks
    where ${ofPartners(column('partnerId'))} and id = any(${column('id')}::uuid[])`)
}

export async function decidePayerCheck(
  tx: Tx,
  { partnerId, id }: RowKey,
  decision: 'received' | 'refused',
  now: Date,
): Promise<void> {
  await tx.run(sql`/* deposits.decidePayerCheck */
    update deposits.payer_checks set decision = ${decision}, decided_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Writes the payer data of an answer to a deposit, which is then checked again at once. */
export async function writeDebtor(tx: Tx, { partnerId, id }: RowKey, debtor: string | null, now: Date): Promise<void> {
  await tx.run(sql`/* deposits.writeDebtor */
    update deposits.deposits set debtor = coalesce(${debtor}, debtor), screening_due_at = ${now}, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status = 'Screening'`)
}

/** Writes the payer data of an answer to a part. */
export async function writePartReport(tx: Tx, partnerId: string, id: string, report: string): Promise<void> {
  await tx.run(sql`/* deposits.writePartReport */
    update deposits.parts set report = ${report} where partner_id = ${partnerId} and id = ${id}`)
}

/** Lists deposits whose money waits for an answer, by deadline. */
export function waitingPayerChecks(tx: Tx, rowsMax: number): Promise<readonly PayerCheck[]> {
  return tx.rows<PayerCheck>(
    acrossPartners(
      'lists deposits that wait for data of their payers, by an index',
      sql`/* deposits.waitingPayerChecks */ select ${payerColumns} from deposits.payer_checks
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

/** Lists the banks whose payments have lacked data since a time, the most frequent first (article 8(2)). */
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

// Reads for reconciliation: the credits that the ledger has, and the deposits that unmatched money may belong to.

/** Returns those credits whose money a partner has received, including parts that wait for the rest. */
export async function receivedCredits(
  tx: Tx,
  connector: string,
  creditIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx.rows<{ creditId: string }>(
    acrossPartners(
      'finds the deposits of credits, whose partner the bank does not name, by an index',
      sql`/* deposits.receivedCredits */
        select credit_id from deposits.deposits
        where credit_id = any(${creditIds}::text[]) and connector = ${connector} and status = 'Completed'`,
    ),
  )
  const parts = await creditsInParts(tx, connector, creditIds)
  return [...rows, ...parts].map(({ creditId }) => creditId)
}

export type DepositCandidate = {
  readonly partnerId: string
  readonly id: string
  readonly status: DepositStatus
  readonly currency: Currency
  readonly amount: Minor
  readonly reference: string
  readonly endToEndId: string
  readonly creditorReference: string | null
  readonly createdAt: Date
}

const facts = sql`partner_id, id, status, currency, amount, reference, end_to_end_id, creditor_reference, created_at`

/** Finds deposits of all partners by creditor reference. */
export function depositsByReference(tx: Tx, references: readonly string[]): Promise<readonly DepositCandidate[]> {
  return tx.rows<DepositCandidate>(
    acrossPartners(
      'finds deposits by what a payer wrote, which does not name the partner, by an index',
      sql`/* deposits.depositsByReference */
        select ${facts} from deposits.deposits where creditor_reference = any(${references}::text[])`,
    ),
  )
}

/** Lists unpaid deposits of a partner with this amount and ids above `afterId`, newest first. */
export function unpaidDepositsOfAmount(
  tx: Tx,
  partnerId: string,
  wanted: { readonly currency: Currency; readonly amount: Minor; readonly after: string; readonly rowsMax: number },
): Promise<readonly DepositCandidate[]> {
  return tx.rows<DepositCandidate>(sql`/* deposits.unpaidDepositsOfAmount */
    select ${facts} from deposits.deposits
    where partner_id = ${partnerId} and currency = ${wanted.currency} and amount = ${wanted.amount} and id > ${wanted.after}::uuid
      and status not in ('Completed', 'Screening')
    order by id desc limit ${wanted.rowsMax}`)
}

/** Erased with the partner's own fields, because the fingerprint of the request contains them. So is the payer's location. */
const partnerFields: PersonalColumns = {
  table: 'deposits.deposits',
  by: 'id',
  erased: {
    ...{ request_hash: '', custom_fields: null, website_reference: null, ip_address: '', payment_country: '' },
    craft_text: null,
  },
}
const all: PersonalColumns = {
  ...partnerFields,
  erased: { ...partnerFields.erased, debtor: null, error_details: null },
}

/** Locks deposits in the order of their ids, like `lockDeposits`. Returns the ids. */
export async function eraseFields(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
  scope: 'details' | 'all',
): Promise<readonly string[]> {
  if (references.length === 0) return []
  const rows = await tx.rows<{ id: string }>(sql`/* deposits.eraseFields */
    select id from deposits.deposits where partner_id = ${partnerId} and reference = any(${references}::text[])
    order by id for no key update`)
  const ids = rows.map(({ id }) => id)
  await erasePersonal(tx, scope === 'all' ? all : partnerFields, partnerId, ids)
  if (scope === 'all') await eraseParts(tx, partnerId, ids)
  return ids
}
