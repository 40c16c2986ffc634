/**
 * Commands for cases: bank reports that match nothing known. One person proposes the resolution, another one approves.
 */
import { ownJson } from '@partner-payments/wire'
import { keptFromPartners, operatorPartnerId } from '../cases/index.ts'
import { ConfigError } from '../app/config.ts'
import { amountText, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { changing, refusedInOneLine } from './changes.ts'
import type { Call, CommandsOf, Context } from './context.ts'

const pageMax = 1000

export const caseCommands: CommandsOf<`case ${string}`> = {
  /** The open cases, oldest first. */
  'case list': async ({ service: { cases } }) => {
    const open: Case[] = []
    for (let page: readonly Case[] = []; ;) {
      page = await cases.list(page.at(-1), pageMax)
      open.push(...page)
      if (page.length < pageMax) return open.map(viewOf)
    }
  },

  /** One case, and candidates for its money: the best first, with what agreed. */
  'case show': async ({ service: { cases, reconciliation }, db }, { partner: partnerId, id }) => {
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

  'case propose': (context, options, call) => {
    const { action, staff, note, customer, payout: payoutId, 'to-partner': toPartnerId } = options
    const proposing = {
      ...{ ...keyOf(options), action, staff, ...accountOf(call), note },
      ...(toPartnerId === undefined ? {} : { toPartnerId }),
      ...(payoutId === undefined ? {} : { payoutId }),
      ...(customer === undefined ? {} : { customerId: customer }),
    }
    return decided(context, options, call, (tx) => context.service.decisions.propose(tx, proposing))
  },

  'case approve': async (context, options, call) => {
    // The names of a credit are compared with the list that this process has read.
    await context.service.screening.lists.snapshot()
    const { staff, proposal: proposalId } = options
    const approving = {
      ...{ ...keyOf(options), staff, ...accountOf(call) },
      ...(proposalId === undefined ? {} : { proposalId }),
    }
    return decided(context, options, call, (tx) => context.service.decisions.approve(tx, approving))
  },

  'case reject': (context, options, call) => {
    const { staff, note } = options
    const rejecting = { ...keyOf(options), staff, ...accountOf(call), note }
    return decided(context, options, call, (tx) => context.service.decisions.reject(tx, rejecting))
  },

  /** Every decision about a case, in their order. */
  'case history': async ({ service: { decisions }, db }, { partner, id }) => {
    const rows = await decisions.history(db, partner, id)
    return rows.map(({ before, after, ...row }) => ({
      ...row,
      before: ownJson<unknown>(before),
      after: ownJson<unknown>(after),
    }))
  },
}

/** The account of the person, if one has signed in. */
const accountOf = ({ staffId }: Call) => (staffId === undefined ? {} : { staffId })

type Key = { readonly partner: string; readonly id: string }
const keyOf = ({ partner, id }: Key) => ({ partnerId: partner, id })

async function decided(context: Context, { partner, id }: Key, call: Call, work: (tx: Tx) => Promise<Case>) {
  const found = await context.service.cases.byId(context.db, partner, id)
  // A partner reads its audit log, and must not learn that its customer is under suspicion (AMLD, Article 39).
  const isHidden = found !== undefined && keptFromPartners.has(found.kind)
  const recorded = isHidden ? { ...call, partnerId: operatorPartnerId } : call
  return refusedInOneLine(async () => viewOf(await changing(context, recorded, work)))
}

type Case = Awaited<ReturnType<Context['service']['cases']['list']>>[number]

/** Formats a case for the operator: money as a decimal number, the report as the bank sent it. */
function viewOf({ booked, currency, report, proposal, ...row }: Case): object {
  const money =
    booked === null ? null : { currency, amount: amountText(booked, present(currency, 'money has a currency')) }
  const proposed = proposal === null ? null : ownJson<unknown>(proposal)
  return { ...row, proposal: proposed, suspense: money, report: ownJson<unknown>(report) }
}
