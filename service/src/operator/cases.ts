/**
 * Commands for cases: bank reports that match nothing known. One person proposes the resolution, another one approves.
 */
import { ownJson } from '@partner-payments/wire'
import { type CaseAction, caseActions, keptFromPartners, operatorPartnerId } from '../cases/index.ts'
import { ConfigError } from '../app/config.ts'
import { amountText, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type Change, changing, refusedInOneLine } from './changes.ts'
import type { Context } from './context.ts'
import { type Options, readId, required } from './options.ts'

const pageMax = 1000

export const caseCommands = {
  /** The open cases, oldest first. */
  'case list': async ({ service: { cases } }: Context) => {
    const open: Case[] = []
    for (let page: readonly Case[] = []; ;) {
      page = await cases.list(page.at(-1), pageMax)
      open.push(...page)
      if (page.length < pageMax) return open.map(viewOf)
    }
  },

  /** One case, and candidates for its money: the best first, with what agreed. */
  'case show': async ({ service: { cases, reconciliation }, db }: Context, options: Options) => {
    const { partnerId, id } = keyOf(options)
    const found = await cases.byId(db, partnerId, id)
    if (found === undefined) throw new ConfigError('operator: No such case.')
    const candidates = await reconciliation.candidates(db, found)
    return {
      ...viewOf(found),
      candidates: candidates.map(({ candidate: { amount, ...candidate }, ...scored }) => ({
        ...scored,
        ...candidate,
        amount: amount === null ? null : amountText(amount, candidate.currency),
      })),
    }
  },

  'case propose': (context: Context, options: Options) => {
    const toPartnerId = readId(options, 'to-partner')
    const payoutId = readId(options, 'payout')
    const { customer } = options
    const proposing = {
      ...keyOf(options),
      action: readAction(options),
      staff: required(options, 'staff'),
      ...accountOf(options),
      note: required(options, 'note'),
      ...(toPartnerId === undefined ? {} : { toPartnerId }),
      ...(payoutId === undefined ? {} : { payoutId }),
      ...(customer === undefined ? {} : { customerId: customer }),
    }
    return decided(context, { command: 'case propose', options }, (tx) =>
      context.service.decisions.propose(tx, proposing),
    )
  },

  'case approve': async (context: Context, options: Options) => {
    // The names of a credit are compared with the list that this process has read.
    await context.service.screening.lists.snapshot()
    const proposalId = readId(options, 'proposal')
    const approving = {
      ...keyOf(options),
      staff: required(options, 'staff'),
      ...accountOf(options),
      ...(proposalId === undefined ? {} : { proposalId }),
    }
    return decided(context, { command: 'case approve', options }, (tx) =>
      context.service.decisions.approve(tx, approving),
    )
  },

  'case reject': (context: Context, options: Options) => {
    const person = { staff: required(options, 'staff'), ...accountOf(options) }
    const rejecting = { ...keyOf(options), ...person, note: required(options, 'note') }
    return decided(context, { command: 'case reject', options }, (tx) =>
      context.service.decisions.reject(tx, rejecting),
    )
  },

  /** Every decision about a case, in their order. */
  'case history': async ({ service: { decisions }, db }: Context, options: Options) => {
    const { partnerId, id } = keyOf(options)
    const rows = await decisions.history(db, partnerId, id)
    return rows.map(({ before, after, ...row }) => ({
      ...row,
      before: ownJson<unknown>(before),
      after: ownJson<unknown>(after),
    }))
  },
}

/** The account of the person, if one has signed in. */
const accountOf = ({ staffId }: Options) => (staffId === undefined ? {} : { staffId })

const keyOf = (options: Options) => ({ partnerId: required(options, 'partner'), id: required(options, 'id') })

async function decided(context: Context, change: Change, work: (tx: Tx) => Promise<Case>): Promise<object> {
  const { partnerId, id } = keyOf(change.options)
  const found = await context.service.cases.byId(context.db, partnerId, id)
  // A partner reads its audit log, and must not learn that its customer is under suspicion (AMLD, Article 39).
  const isHidden = found !== undefined && keptFromPartners.has(found.kind)
  const recorded = isHidden ? { ...change, partnerId: operatorPartnerId } : change
  return refusedInOneLine(async () => viewOf(await changing(context, recorded, work)))
}

function readAction(options: Options): CaseAction {
  const text = required(options, 'action')
  const action = caseActions.find((each) => each === text)
  if (action === undefined) throw new ConfigError(`operator: --action must be one of ${caseActions.join(', ')}`)
  return action
}

type Case = Awaited<ReturnType<Context['service']['cases']['list']>>[number]

/** Formats a case for the operator: money as a decimal number, the report as the bank sent it. */
function viewOf({ booked, currency, report, proposal, ...row }: Case): object {
  const money =
    booked === null ? null : { currency, amount: amountText(booked, present(currency, 'money has a currency')) }
  const proposed = proposal === null ? null : ownJson<unknown>(proposal)
  return { ...row, proposal: proposed, suspense: money, report: ownJson<unknown>(report) }
}
