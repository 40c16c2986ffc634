/** Commands for incoming payments that lack data of their payers. The rules hold for all partners: their records are in the log of the operator. */
import { amountText, type Minor } from '../kernel/index.ts'
import type { PayerRule } from '../deposits/index.ts'
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

const shownMax = 1000

export const payerCommands: CommandsOf<`payer-data ${string}`> = {
  /** Sets a rule, or the measure of the one with the same banks, currency and amount. */
  'payer-data set': (context, { banks: region, currency, above = 0n, measure, days: answerDays }, call) =>
    decided(context, call, async (tx) => ({
      rules: (await context.service.deposits.payers.setRule(tx, { region, currency, above, measure, answerDays })).map(
        viewOf,
      ),
    })),

  'payer-data list': async ({ service: { deposits }, db }) => ({
    rules: (await deposits.payers.rules(db)).map(viewOf),
  }),

  'payer-data remove': (context, { banks: region, currency, above = 0n }, call) =>
    decided(context, call, async (tx) => ({
      rules: (await context.service.deposits.payers.removeRule(tx, { region, currency, above })).map(viewOf),
    })),

  /** The payments that wait for an answer, the next deadline first. */
  'payer-data waiting': async ({ service: { deposits }, db }) =>
    (await deposits.payers.waiting(db, shownMax)).map(({ decision: _none, measure: _asked, lacks, ...check }) => ({
      ...check,
      amount: moneyOf(check),
      lacks: lacks.split(' '),
    })),

  'payer-data decide': (context, { partner: partnerId, id, outcome, ...given }, call) =>
    decided(context, call, async (tx) => {
      const { name, account, address, identification } = given
      const answer = Object.fromEntries(
        Object.entries({ name, account, address, identification }).filter(([, value]) => value !== undefined),
      )
      await context.service.deposits.payers.decide(tx, { partnerId, id }, outcome === 'received' ? answer : null)
      return { id, outcome }
    }),

  'payer-data banks': async ({ service: { deposits }, db }, { since }) =>
    (await deposits.payers.failingBanks(db, since, shownMax)).map((bank) =>
      Object.fromEntries(
        Object.entries(bank).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
      ),
    ),
}

const moneyOf = ({ amount, currency }: { readonly amount: Minor; readonly currency: PayerRule['currency'] }) =>
  amountText(amount, currency)
const viewOf = ({ above, ...rule }: PayerRule) => ({ ...rule, above: moneyOf({ ...rule, amount: above }) })
