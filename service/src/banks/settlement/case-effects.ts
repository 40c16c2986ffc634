/** Applies decisions about cases: credits or charges a partner, or matches a report with a payout or deposit. */
import type { Access } from '../../access/index.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { type CaseEffects, type CaseKind, operatorPartnerId, readCaseReport } from '../../cases/index.ts'
import { isUuid, type RowKey } from '../../kernel/index.ts'
import type { Deposits } from '../../deposits/index.ts'
import type { Monitoring } from '../../monitoring/index.ts'
import { instructionOf, type PayoutLife } from '../../payouts/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankBooks } from '../../rails/index.ts'
import type { Screening } from '../../screening/index.ts'

export type CaseEffectsDeps = {
  readonly access: Pick<Access, 'partnerName'>
  readonly payoutLife: Pick<PayoutLife, 'matched'>
  readonly deposits: Pick<Deposits, 'chargePartner' | 'creditOwner' | 'creditPartner' | 'isInScreening'>
  readonly books: BankBooks
  readonly screening: Pick<Screening, 'holdOfMoney'>
}

/** The decisions for which the money of a deposit waits, by the kind of its case. */
const awaitedDecisions: Readonly<Partial<Record<CaseKind, string>>> = {
  sanctions_hold: 'The money waits for a decision about a name: decide the hit first (screening hits).',
  payer_data_missing: 'The money waits for data about its payer: record the answer first (payer-data decide).',
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

async function refuseUnknown(access: CaseEffectsDeps['access'], tx: Tx, partnerId: string): Promise<void> {
  if ((await access.partnerName(tx, partnerId)) === '') throw new Refusal('not_found', 'No such partner.')
}

export function createCaseEffects({
  access,
  payoutLife,
  deposits,
  books,
  screening,
}: CaseEffectsDeps): Omit<CaseEffects, 'refusal' | 'sendBack'> {
  const requirePartner = (tx: Tx, partnerId: string) => refuseUnknown(access, tx, partnerId)
  const credit: CaseEffects['credit'] = async (tx, { case: { connector }, partnerId, money }) => {
    await requirePartner(tx, partnerId)
    await deposits.creditPartner(tx, partnerId, { ...money, debit: `settlement.${connector}` }, 'NotDefined')
  }
  return {
    credit,
    charge: async (tx, moving) => {
      await requirePartner(tx, moving.partnerId)
      await deposits.chargePartner(tx, partnerCharge(moving))
    },
    screenSender: async (tx, row) => {
      const { partnerId, booked } = row
      const { debtor, remittance, endToEndId } = readCaseReport(row)
      if (booked === null || booked <= 0n || debtor === undefined) return undefined
      const texts = [remittance, endToEndId]
      const hold = await screening.holdOfMoney(tx, { partnerId, customerId: null, debtor, texts })
      return hold === undefined || hold === 'unscreened' ? hold : 'listed'
    },
    notNow: async (tx, { kind, partnerId, subject }) => {
      const awaited = awaitedDecisions[kind]
      if (awaited === undefined || !isUuid(subject)) return undefined
      return (await deposits.isInScreening(tx, partnerId, subject)) ? awaited : undefined
    },
    announced: async (tx, { subject }) => {
      if (!isUuid(subject) || !(await books.merge(tx, subject)))
        throw refuse(
          'The case is not about an announced entry without a statement. Read the text of the case and choose another resolution.',
        )
    },
    payout: async (tx, { case: found, partnerId, money, report: { details } }, payoutId) => {
      const { connector, id } = found
      const amount = money.amount < 0n ? -money.amount : money.amount
      const report = { connector, notificationId: `case ${id}`, money: { ...money, amount } }
      const returned = { errorKey: 'BankRejection', details: details ?? 'The payment came back.' } as const
      const failure = money.amount < 0n ? undefined : returned
      const applied = await payoutLife.matched(tx, { partnerId, payoutId, report, returned: failure })
      if (applied === 'unknown')
        throw refuse('The partner has no such payout. Name the payout with --to-partner and --payout.')
      if (applied === 'early') throw refuse('The payout was not sent to the bank yet. Wait until it is sent.')
      if (applied !== true) throw refuse(`The payout does not match: ${mismatchText(money.amount < 0n)}`)
      // The connector then counts the payment as booked, and a later report of the bank as a duplicate.
      const instructionId = await instructionOf(tx, partnerId, payoutId)
      await matchEntry(tx, books, found, { partnerId, id: instructionId }, money.amount < 0n)
    },
    deposit: async (tx, moving, customerId) => {
      const { case: found, partnerId, money, report } = moving
      await requirePartner(tx, partnerId)
      const { account, debtor, remittance = null, endToEndId = null, transactionHash } = report
      if (account === undefined || debtor === undefined) {
        if (customerId !== undefined)
          throw refuse('The report of the bank does not name a payer. Match it without a customer, or credit it.')
        return credit(tx, moving)
      }
      const isCredited = await deposits.creditOwner(
        tx,
        found.connector,
        { partnerId, customerId: customerId ?? null },
        {
          kind: 'credit.booked',
          partnerId,
          id: `case ${found.id}`,
          subjectId: report.subjectId ?? found.subject,
          account,
          money,
          debtor,
          remittance,
          endToEndId,
          ...(transactionHash === undefined ? {} : { transactionHash }),
        },
      )
      if (!isCredited) throw refuse('The partner already has a deposit of this credit.')
    },
  }
}

export const createCaseRefusal =
  (monitoring: Pick<Monitoring, 'payoutStanding'>): CaseEffects['refusal'] =>
  async (tx, { partnerId, id, kind }) => {
    if (kind === 'sanctions_hold') return { stopped: 1, alreadySent: 0 }
    const { waiting, left, ended } = await monitoring.payoutStanding(tx, partnerId, id)
    const recall = left > 0n ? ' To get sent money back, the partner or "bank recall" must recall it.' : ''
    if (waiting === 0n)
      throw refuse(
        `No payout waits for this decision: ${left} are sent or wait for another decision, ${ended} have ended. End the alert with release.${recall}`,
      )
    return { stopped: Number(waiting), alreadySent: Number(left) }
  }

/** Creates the charge of a case, with the bank's reason for the partner. */
function partnerCharge({
  case: { connector },
  partnerId,
  money,
  report: { details },
}: Parameters<CaseEffects['charge']>[1]) {
  if (partnerId === operatorPartnerId)
    throw refuse('The case does not name the partner to charge. Name it with --to-partner.')
  const description = `Charge: ${details ?? 'money that left our account at the bank'}`
  return { partnerId, connector, ...money, amount: -money.amount, description }
}

const mismatchText = (hasLeft: boolean) =>
  hasLeft
    ? 'it is not in progress at this connector in this currency.'
    : 'it is not sent or settled by this connector in this currency, or its balance is closed.'

/** Matches the entry of the case with the payment, if a file-based bank reported it. */
async function matchEntry(
  tx: Tx,
  books: BankBooks,
  { subject }: { readonly subject: string },
  payout: RowKey,
  hasLeft: boolean,
): Promise<void> {
  const entry = isUuid(subject) ? await books.entryOf(tx, subject) : undefined
  if (entry !== undefined) await books.match(tx, entry.id, payout, hasLeft)
}
