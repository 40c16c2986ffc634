/**
 * Each kind of hold, with the explanation that a partner reads in the timeline or the preview. Each kind of the table
 * needs a walk here. Kinds that are secret have the same explanation.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { Unreachable } from '../../service/src/kernel/api/index.ts'
import { kindsHiddenFromPartners, operatorPartnerId } from '../../service/src/cases/index.ts'
import { hourMs, minuteMs, secondMs } from '../../service/src/kernel/index.ts'
import { readRule } from '../../service/src/monitoring/rules.ts'
import { instructionIdOf } from '../../service/src/payouts/index.ts'
import {
  type PartnerHold,
  explainHold,
  type Hold,
  holds,
  holdsOfCases,
  partnerWords,
  transactionsRoutes,
} from '../../service/src/transactions/index.ts'
import { readSanctionsList } from '../../service/src/screening/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { setApprovalRule } from '../support/approvals.ts'
import { createSessions } from '../support/checkout.ts'
import { addPartner, ip, pay, type Service, stepMsDefault, type TestPartner } from '../support/composition.ts'
import { atEnd, untilEnd, useModules } from '../support/fixture.ts'
import { createBankService, removeFolders } from '../support/iso-outgoing.ts'
import { decideAll, listedName, sampleList, screenAll, sendCredit } from '../support/screening/held.ts'

/** A Thursday. TARGET is open. */
const now = new Date('2026-01-08T09:00:00Z')
/** True if the bank does not answer. */
let isSilent = false
const lost = () => Promise.reject(new Unreachable('downstream_timeout', 'the bank does not answer'))
const service = await useModules({
  now,
  wrapConnector: (bank) => ({
    ...bank,
    instruct: (instructions, options) => (isSilent ? lost() : bank.instruct(instructions, options)),
    find: (keys, options) => (isSilent ? lost() : bank.find(keys, options)),
  }),
})
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
/** Time after the cut-off of a Friday. */
const { service: byFiles, folders } = await createBankService(new Date('2026-01-09T18:00:00Z'))
atEnd(() => removeFolders(folders))
untilEnd(byFiles)

const money = (of: Service = service) => addPartner(of, 1_000_00n)
const timelineOf = async ({ caller }: TestPartner, reference: string, of: Service = service) => {
  const call = { caller, params: { reference }, query: {}, body: undefined }
  return (await transactionsRoutes(of.transactions, of.holdOf).getTransactionTimeline(call as never)).body
}
const submit = async (of: Service = service) => {
  of.clock.advance(31 * secondMs)
  await submitDuePayouts({ ...of.settlement, connectors: [...of.settlement.connectors, ...of.isoBanks.connectors] })
}
const processed = async () => {
  for (let round = 0; round < 4; round += 1) {
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
}

/** Pays, and reads what the payout waits for after some work. */
async function paidHold(
  partner: TestPartner,
  work: (payout: Awaited<ReturnType<typeof pay>>['payout']) => Promise<unknown> = () => submit(),
  fields: Parameters<typeof pay>[3] = {},
  of: Service = service,
) {
  const { payout } = await pay(of, partner, '10.00', fields)
  await work(payout)
  return (await timelineOf(partner, payout.reference, of)).hold
}

/** The hold in a verdict of the preview. */
async function previewed(partner: TestPartner, rule: string, amount = '10.00', beneficiaryId = partner.beneficiary.id) {
  const body = { amount: rawNumber(amount), currency: 'EUR', beneficiaryId }
  const { verdicts } = await service.payouts.preview(partner.caller, body, ip)
  const hold = verdicts.find((verdict) => verdict.rule === rule)?.hold
  return hold && explainHold(hold)
}

/** Credits 5.00 to the partner's customer, and returns the hold of the deposit. */
async function creditedHold(
  partner: TestPartner,
  enter: () => Promise<unknown>,
  from?: Parameters<typeof sendCredit>[3],
) {
  const { partnerId, customer } = partner
  const { iban } = (await service.accounts.create(partnerId, customer.id)).ibans[0]
  await enter()
  await sendCredit(service, iban, undefined, from)
  await processed()
  return depositHold(partner)
}
async function depositHold(partner: TestPartner) {
  const [transaction] = (await service.transactions.list(partner.partnerId, { category: 'Deposit' })).data
  return transaction && (await timelineOf(partner, transaction.row.reference)).hold
}

const change = (
  partner: TestPartner,
  state: 'BlockedOutbound' | 'BlockedInbound',
  account: { currency: 'EUR' } | { customerRef: string },
) =>
  service.db.transaction((tx) =>
    service.accounts.changeState(tx, {
      ...{ partnerId: partner.partnerId, account, state, reason: 'CourtOrder' },
      ...{ note: 'Order 17', staff: 'Ada' },
    }),
  )
const closeGate = ({ partnerId }: TestPartner) =>
  service.db.transaction((tx) =>
    service.customers.gates.set(tx, { partnerId, state: 'Incomplete', allowed: ['OpenAccount'] }),
  )
const approvalAbove = ({ partnerId }: TestPartner) => setApprovalRule(service, partnerId, { aboveAmount: 1_00n })
async function monitored({ partnerId }: TestPartner): Promise<void> {
  const rule = { name: 'A rule', currency: 'EUR', when: 'before', partners: [partnerId], sum: '1.00' }
  const draft = readRule(JSON.stringify({ ...rule, kind: 'velocity', direction: 'Outward', hours: 24 }))
  const { id } = await service.db.transaction((tx) => service.monitoring.setRule(tx, { draft, staff: 'Ada' }))
  await service.monitoring.backtest({ id, from: '2026-01-01', until: '2026-01-01', staff: 'Ada' })
  for (const staff of ['Ada', 'Joan'])
    await service.db.transaction((tx) => service.monitoring.turnOn(tx, { id, staff }))
}
async function listed(): Promise<void> {
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  await screenAll(service)
}
async function* vessels(): AsyncGenerator<Uint8Array> {
  yield await readFile(new URL('../../service/src/screening/samples/ofac.xml', import.meta.url))
}
const sessions = createSessions(() => service)
const checked = (payee: 'no_match') => async (payout: Awaited<ReturnType<typeof pay>>['payout']) => {
  await submit()
  await service.payoutLife.payeeChecked({ partnerId: payout.partnerId, instructionId: instructionIdOf(payout) }, payee)
}

type SeenHold = PartnerHold | undefined
/** The order matters: after a list is loaded, later payments are held until they are screened. */
const walks: Readonly<Record<Hold['kind'], () => Promise<SeenHold>>> = {
  sending: async () => paidHold(await money(), async () => undefined),
  approval: async () => {
    const partner = await money()
    await approvalAbove(partner)
    assert.equal((await previewed(partner, 'approval'))?.kind, 'Approval')
    return paidHold(partner, async () => undefined)
  },
  execution: async () => paidHold(await money()),
  bankAnswer: async () => {
    isSilent = true
    return paidHold(await money()).finally(() => (isSilent = false))
  },
  bankWindow: async () => paidHold(await money(byFiles), () => submit(byFiles), {}, byFiles),
  payeeCheck: async () => paidHold(await money(), checked('no_match')),
  payeeName: async () => {
    const partner = await money()
    await paidHold(partner, checked('no_match'))
    return previewed(partner, 'payeeCheck')
  },
  recall: async () => {
    const partner = await money()
    return paidHold(partner, async ({ id }) => {
      await submit()
      await processed()
      await service.recalls.create(partner.caller, id, { reason: 'FRAD', text: 'Forged.' })
    })
  },
  payer: async () => {
    const { partner, session } = await sessions.open()
    return (await timelineOf(partner, session.reference)).hold
  },
  booking: async () => {
    const { partner, session } = await sessions.open()
    for (const step of ['initiate', 'submit'] as const) {
      await service.checkout.simulate(partner.partnerId, session.id, { step }, ip)
      await sessions.settle()
    }
    return (await timelineOf(partner, session.reference)).hold
  },
  payerData: async () => {
    const rule = { region: 'outside', currency: 'EUR', above: 0n, measure: 'ask', answerDays: 3 } as const
    await service.db.transaction((tx) => service.deposits.payers.setRule(tx, rule))
    const partner = await addPartner(service)
    const seen = await creditedHold(partner, () => Promise.resolve(), { account: '', bic: '' })
    await service.db.transaction((tx) => service.deposits.payers.removeRule(tx, rule))
    return seen
  },
  walletOwnership: async () => {
    const of = await useModules({ settings: { WALLET_PROOF_ABOVE: '0' } })
    const { caller, partnerId } = await addPartner(of)
    const walletAddress = `0x${'7'.repeat(40)}`
    const { id } = await of.beneficiaries.create(partnerId, { name: 'Grace Hopper', currency: 'USDC', walletAddress })
    const { verdicts } = await of.payouts.preview(
      caller,
      { amount: rawNumber('5'), currency: 'USDC', beneficiaryId: id },
      ip,
    )
    const hold = verdicts.find(({ rule }) => rule === 'walletOwnership')?.hold
    return hold && explainHold(hold)
  },
  unclear: async () => {
    const { partner, session } = await sessions.open()
    const wrong = { step: 'credit', amount: rawNumber('1.23'), currency: 'EUR', debtorName: 'Grace Hopper' } as const
    await service.checkout.simulate(partner.partnerId, session.id, wrong, ip)
    await sessions.settle()
    return (await timelineOf(partner, session.reference)).hold
  },
  receivingBlocked: async () => {
    const partner = await addPartner(service)
    return creditedHold(partner, () => change(partner, 'BlockedInbound', { customerRef: partner.customer.id }))
  },
  receivingGate: async () => {
    const partner = await addPartner(service)
    return creditedHold(partner, () => closeGate(partner))
  },
  accountBlocked: async () => {
    const partner = await money()
    await change(partner, 'BlockedOutbound', { currency: 'EUR' })
    return previewed(partner, 'account')
  },
  customerGate: async () => {
    const partner = await money()
    await closeGate(partner)
    return previewed(partner, 'customer')
  },
  coolingOff: async () => {
    const partner = await money()
    const rule = { partnerId: partner.partnerId, currency: 'EUR', hours: 48 } as const
    await service.db.transaction((tx) => service.payoutControls.coolingOffs.set(tx, rule))
    return previewed(partner, 'coolingOff')
  },
  limit: async () => {
    const partner = await money()
    const limit = {
      partnerId: partner.partnerId,
      scope: 'partner',
      period: 'month',
      currency: 'EUR',
      amount: 5_00n,
    } as const
    await service.db.transaction((tx) => service.payoutControls.limits.set(tx, limit))
    return previewed(partner, 'limit.partner.month')
  },
  funds: async () => previewed(await money(), 'funds', '1000.01'),
  segregatedFunds: async () => {
    const partner = await money()
    await service.db.transaction((tx) => service.ledger.segregate(tx, partner.partnerId, 'EUR'))
    return previewed(partner, 'funds')
  },
  country: async () => {
    const partner = await money()
    const { id } = await service.beneficiaries.create(partner.partnerId, {
      name: 'Grace Hopper',
      currency: 'EUR',
      iban: 'NL91ABNA0417164300',
    })
    const rule = { countries: ['NL'], sides: ['payouts'], action: 'refuse', staff: 'Sam Staff' } as const
    await service.db.transaction((tx) => service.screening.countries.change(tx, rule))
    service.clock.advance(6 * secondMs)
    return previewed(partner, 'country', '10.00', id)
  },
  monitoring: async () => {
    const partner = await money()
    await monitored(partner)
    await screenAll(service)
    return paidHold(partner)
  },
  names: async () => {
    const partner = await money()
    await service.beneficiaries.update(partner.partnerId, { id: partner.beneficiary.id, name: listedName })
    await listed()
    return paidHold(partner)
  },
  decision: async () => {
    const partner = await addPartner(service)
    await service.customers.update(partner.partnerId, partner.customer.id, { kyc: { fullName: listedName } })
    await screenAll(service)
    return creditedHold(partner, () => Promise.resolve())
  },
  frozen: async () => {
    const partner = await addPartner(service)
    await service.customers.update(partner.partnerId, partner.customer.id, { kyc: { fullName: listedName } })
    await screenAll(service)
    await creditedHold(partner, () => Promise.resolve())
    assert.ok((await decideAll(service, partner.partnerId, 'confirm')) > 0)
    service.clock.advance(minuteMs)
    await service.deposits.screenDue(100)
    return depositHold(partner)
  },
  texts: async () => {
    const partner = await money()
    await service.screening.lists.load(await readSanctionsList(vessels()), 'Sam Staff')
    await screenAll(service)
    return paidHold(
      partner,
      async () => {
        for (let round = 0; round < 3; round += 1) {
          await submit()
          await screenAll(service)
        }
      },
      { reference: 'Freight IMO 9999993' },
    )
  },
}

/** The kinds whose latest end is known. */
const timed: ReadonlySet<Hold['kind']> = new Set([
  'payerData',
  'approval',
  'bankWindow',
  'execution',
  'payer',
  'coolingOff',
  'limit',
])

suite('explanations of holds for partners', () => {
  for (const [kind, walk] of Object.entries(walks) as [Hold['kind'], () => Promise<SeenHold>][])
    test(`a hold of kind ${kind} is explained to the partner as ${holds[kind].told}`, async () => {
      const seen = await walk()
      assert.ok(seen, 'it waits, and says so')
      const { by, ...rest } = seen
      const { reason, actor, evidence } = partnerWords[holds[kind].told]
      assert.deepEqual(rest, { kind: holds[kind].told, reason, actor, evidence })
      assert.equal(by === null, !timed.has(kind), `${by}`)
      if (by !== null) assert.ok(new Date(by) > now)
    })

  test('partners read the same words, without a time, for holds by names, texts, rules and their cases', () => {
    const kept = Object.values(holds).filter(({ told: shown }) => shown === 'OperatorCheck')
    assert.ok(kept.length >= 5)
    const by = new Date(now.getTime() + hourMs)
    const answers = (['names', 'texts', 'monitoring', 'decision', 'frozen'] as const).map((kind) =>
      JSON.stringify(explainHold({ kind, by })),
    )
    assert.equal(new Set(answers).size, 1)
    assert.equal(explainHold({ kind: 'names', by }).by, null)
    for (const kind of kindsHiddenFromPartners) assert.equal(holds[holdsOfCases[kind]].told, 'OperatorCheck', kind)
    assert.doesNotMatch(JSON.stringify(partnerWords.OperatorCheck), /sanction|list|screen|name|rule|monitor|suspic/i)
  })

  test('an ended payment has no hold', async () => {
    const partner = await addPartner(service, 1_000_00n)
    const { payout } = await pay(service, partner, '10.00')
    await service.payouts.cancel(partner.partnerId, payout.id)
    assert.equal((await timelineOf(partner, payout.reference)).hold, undefined)
  })
})
