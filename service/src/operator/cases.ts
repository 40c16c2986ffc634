/** Commands for cases: what a bank reported and what fits nothing we know. */
import { type CaseAction, caseActions } from '../cases/index.ts'
import { ConfigError } from '../config.ts'
import { amountText, present } from '../kernel/index.ts'
import { Refusal } from '../api/index.ts'
import type { Context } from './context.ts'
import { type Options, readPartner, required } from './options.ts'

const pageMax = 1000

export const caseCommands = {
  /** The open ones, oldest first. */
  'case list': async ({ service: { cases } }: Context) => {
    const open: Case[] = []
    for (let page: readonly Case[] = []; ;) {
      page = await cases.list(page.at(-1), pageMax)
      open.push(...page)
      if (page.length < pageMax) return open.map(viewOf)
    }
  },

  'case resolve': async ({ service: { cases, deposits }, db }: Context, options: Options) => {
    const resolving = {
      partnerId: required(options, 'partner'),
      id: required(options, 'id'),
      action: readAction(options),
      staff: required(options, 'staff'),
      note: required(options, 'note'),
    }
    const toPartnerId = readPartner(options, 'to-partner') ?? resolving.partnerId
    try {
      return viewOf(
        await db.transaction((tx) =>
          cases.resolve(tx, {
            ...resolving,
            toPartnerId,
            credit: (joined, money) => deposits.creditPartner(joined, toPartnerId, money, 'NotDefined'),
          }),
        ),
      )
    } catch (error) {
      if (error instanceof Refusal) throw new ConfigError(`operator: ${error.detail}`)
      throw error
    }
  },
}

function readAction(options: Options): CaseAction {
  const text = required(options, 'action')
  const action = caseActions.find((each) => each === text)
  if (action === undefined) throw new ConfigError(`operator: --action is one of ${caseActions.join(', ')}`)
  return action
}

type Case = Awaited<ReturnType<Context['service']['cases']['list']>>[number]

/** As an operator reads it: money as a decimal number, the report as the bank sent it. */
function viewOf({ booked, currency, report, ...row }: Case): object {
  const money =
    booked === null ? null : { currency, amount: amountText(booked, present(currency, 'money has a currency')) }
  return { ...row, suspense: money, report: JSON.parse(report) as unknown }
}
