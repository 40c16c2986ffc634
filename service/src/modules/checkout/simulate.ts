/** Simulations of a session: a payer's and a bank's steps on request, through the sandbox bank. */
import type { BodyOf, CheckoutOutcome, CheckoutStatus } from '@partner-payments/wire'
import { notFound, readAmount, readCurrency, refuseField, Refusal } from '../../api/index.ts'
import { isFiat, type Minor, newId, present } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../postgres/index.ts'
import type { BankStep } from '../../rails/index.ts'
import type { InParts, Part } from '../deposits/index.ts'
import type { CheckoutDeps } from './deps.ts'
import type { Session, ToSession } from './session.ts'
import type { SessionRow } from './store.ts'

export type Simulate = (
  partnerId: string,
  id: string,
  body: BodyOf<'simulateCheckoutSession'>,
  ip: string,
  tx?: Tx,
) => Promise<Session>

type Parts = {
  readonly expire: (partnerId: string, id: string, tx?: Tx) => Promise<Session>
  readonly toSession: ToSession
  readonly read: (
    tx: Tx,
    partnerId: string,
    id: string,
  ) => Promise<{ row: SessionRow; deposit: InParts; refunded: Minor }>
}

/** The remaining steps follow from the status, so that an outcome continues what has begun. */
const stepsOf: Readonly<Record<Exclude<CheckoutOutcome, 'expired'>, readonly BankStep[]>> = {
  completed: ['initiate', 'submit', 'accept', 'settle'],
  failed: ['initiate', 'submit', 'fail'],
  abandoned: ['initiate'],
}

export function createSimulate(deps: CheckoutDeps, { read, toSession, expire }: Parts): Simulate {
  const { db, bank } = deps
  return async (partnerId, id, body, ip, outerTx) => {
    if (bank === undefined) throw notFound('simulation')
    requireOne(body)
    const { outcome, step } = body
    if (outcome === 'expired') return expire(partnerId, id, outerTx)
    return inTransaction(db, outerTx, async (tx) => {
      const { row, deposit, refunded } = await read(tx, partnerId, id)
      const session = toSession(row, deposit, refunded)
      if (outcome !== undefined && finalStatuses.has(session.status))
        throw new Refusal('checkout_session_not_open', `The session is ${session.status}; only a \`step\` can follow.`)
      const payer = {
        name: body.debtorName ?? 'Sandbox Payer',
        ipAddress: ip,
        countryCode: row.paymentCountry ?? body.countryCode ?? 'DE',
        money: moneyOf(body, session),
      }
      // The bank of the payer of a part sends a transfer: the bank of the payee knows no steps of it.
      if (step === 'credit' || (outcome === 'completed' && deposit.inParts)) {
        const { iban: account, creditorReference: remittance } = row
        const credit = { account, money: payer.money, debtor: bank.debtorOf(payer), remittance, endToEndId: null }
        bank.sendCredit(tx, partnerId, newId(), credit)
      } else if (step === 'reverse') {
        const part = deposit.parts.findLast(({ reversedAt }) => reversedAt === null)
        const money = { currency: deposit.currency, amount: (part ?? deposit).amount }
        const reversed = { money, details: 'The bank of the payer has recalled the payment.' }
        bank.reverseCredit(tx, partnerId, creditOf(part ?? deposit), reversed)
      } else {
        const steps = outcome === undefined ? [present(step, 'one of both is given')] : stepsOf[outcome]
        bank.scheduleSteps(tx, { partnerId, id: row.depositId }, steps, payer)
      }
      return session
    })
  }
}

const finalStatuses: ReadonlySet<CheckoutStatus> = new Set(['Completed', 'Failed', 'Expired'])

/** Refuses: validation_failed. */
function creditOf({ creditId }: Pick<InParts | Part, 'creditId'>): string {
  if (creditId !== null) return creditId
  throw refuseField({
    pointer: '/step',
    code: 'invalid_value',
    message: 'reverses a credit, but no credit paid the session',
  })
}

function requireOne({ outcome, step }: BodyOf<'simulateCheckoutSession'>): void {
  if (outcome === undefined && step === undefined)
    throw refuseField({ pointer: '/outcome', code: 'required', message: 'is required unless `step` is given' })
  if (outcome !== undefined && step !== undefined)
    throw refuseField({
      pointer: '/step',
      code: 'invalid_value',
      message: 'must be omitted: `outcome` implies all steps',
    })
}

/** Refuses: validation_failed, currency_not_supported. */
function moneyOf({ amount, currency: code }: BodyOf<'simulateCheckoutSession'>, session: Session) {
  const currency = code === undefined ? session.currency : readCurrency(code)
  if (!isFiat(currency)) throw new Refusal('currency_not_supported', `The sandbox bank holds no ${currency}.`)
  return {
    currency,
    amount: amount === undefined ? session.remainingAmount || session.amount : readAmount(amount, currency),
  }
}
