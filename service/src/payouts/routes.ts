/** Maps API operations to module operations and response shapes. */
import { rawNumber, type ResponseOf } from '@partner-payments/wire'
import { type OperationAnswer, type Caller, type Handlers, writeSums } from '../kernel/api/index.ts'
import { toJsonAmount } from '../kernel/index.ts'
import type { Forecast } from '../rails/index.ts'
import { toVerification } from '../parties/beneficiaries/index.ts'
import type { ReferenceAmount } from '../rates/index.ts'
import { parseReference, controlledAmountsOfCall } from './controls/index.ts'
import { explainHold } from '../transactions/index.ts'
import type { PossibleDuplicates } from './duplicates.ts'
import type { Preview, RuleAmount } from './preview.ts'
import { endToEndIdSent } from './rules.ts'
import type { AcceptedPayout, Payouts } from './service.ts'
import type { PayoutRow } from './store.ts'
import type { ApprovalRecord } from './store-approvals.ts'

export function payoutsRoutes(payouts: Payouts) {
  const toRecords = async (partnerId: string, rows: readonly PayoutRow[]) => {
    const decisions = await payouts.decisionsOf(partnerId, rows)
    return rows.map((row) => toPayoutRecord(row, decisions.get(row.id)))
  }
  const toRecord = async ({ partnerId }: Caller, row: PayoutRow) => ({
    body: toPayoutRecord(row, (await payouts.decisionsOf(partnerId, [row])).get(row.id)),
  })
  return {
    createFiatPayout: async ({ caller, body, ip, nonce }) =>
      toAnswer(await payouts.create(caller, body, ip, nonce), body.idempotencyKey),
    createTokenPayout: async ({ caller, body, ip }) =>
      toAnswer(await payouts.createToken(caller, body, ip), body.idempotencyKey),
    createFxPayout: async ({ caller, body, ip }) => {
      const accepted = await payouts.createFx(caller, body, ip)
      const { body: answer, ...rest } = toAnswer(accepted, body.idempotencyKey)
      return { body: { ...answer, ...writeSold(accepted.payout) }, ...rest }
    },
    previewFiatPayout: async ({ caller, body, ip }) => ({ body: toPreview(await payouts.preview(caller, body, ip)) }),
    previewFxPayout: async ({ caller, body, ip }) => {
      const preview = await payouts.previewFx(caller, body, ip)
      const { id: quoteId, sellAmount, sellCurrency } = preview.quote
      const sold = { sellAmount: toJsonAmount(sellAmount, sellCurrency), sellCurrency, quoteId }
      return { body: { ...toPreview(preview), ...sold } }
    },
    getPayout: async ({ caller, params }) => toRecord(caller, await payouts.get(caller.partnerId, params.id)),
    getPayoutVerification: async ({ caller, params }) => ({
      body: toVerification(await payouts.verificationOf(caller.partnerId, params.id)),
    }),
    listPayoutDuplicates: async ({ caller, params }) => ({
      body: toPossibleDuplicates(await payouts.possibleDuplicates(caller.partnerId, params.id)),
    }),
    getPayoutNote: async ({ caller, params }) => ({ body: toNote(await payouts.note(caller.partnerId, params.id)) }),
    setPayoutNote: async ({ caller, params, body }) => {
      const note = await payouts.setNote(caller, params.id, body.note)
      return { body: toNote(note), customerId: note.customerId }
    },
    cancelPayout: async ({ caller, params }) =>
      toRecord(
        caller,
        await payouts.cancel(caller.partnerId, params.id, { id: caller.serviceAccountId, name: caller.name }),
      ),
    approvePayout: async ({ caller, params }) => toRecord(caller, await payouts.approve(caller, params.id)),
    rejectPayout: async ({ caller, params, body }) =>
      toRecord(caller, await payouts.reject(caller, params.id, body.reason)),
    sumPayouts: async ({ caller, query }) => ({ body: writeSums(await payouts.sums(caller.partnerId, query)) }),
    listPayouts: async ({ caller, query }) => {
      const page = await payouts.list(caller.partnerId, query)
      return { body: { ...page, data: await toRecords(caller.partnerId, page.data) } }
    },
  } satisfies Partial<Handlers<'payouts'>>
}

/** Builds the answer. A replay repeats the first answer, with the initial status of the payout. */
function toAnswer(
  { payout, replayed }: AcceptedPayout,
  idempotencyKey: string,
): OperationAnswer<ResponseOf<'createFiatPayout'>> {
  return {
    body: {
      ...toDocumentedPayout(payout),
      status: payout.approvalExpiresAt === null ? 'Pending' : 'PendingApproval',
      idempotencyKey,
    },
    headers: {
      location: `/v1/transactions/${encodeURIComponent(payout.reference)}`,
      'payout-id': payout.id,
      ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
    },
  }
}

const writeSold = ({ soldAmount, soldCurrency, quoteId }: PayoutRow) =>
  soldAmount === null || soldCurrency === null || quoteId === null
    ? {}
    : { sellAmount: toJsonAmount(soldAmount, soldCurrency), sellCurrency: soldCurrency, quoteId }

const writeReferenceAmount = (reference: ReferenceAmount | null | undefined) => {
  if (!reference) return {}
  const { amount, currency, rate, rateOn } = reference
  return { referenceAmount: { amount: toJsonAmount(amount, currency), currency, rate: rawNumber(rate), rateOn } }
}

function toDocumentedPayout(payout: PayoutRow) {
  return {
    amount: toJsonAmount(payout.amount, payout.currency),
    beneficiaryAccount: payout.creditorAccount,
    beneficiaryName: payout.creditorName,
    currency: payout.currency,
    reference: payout.reference,
    status: payout.status,
  }
}

/** Builds the public form of a payout. `decision`: undefined if the payout needs no approval. */
export function toPayoutRecord(payout: PayoutRow, decision: ApprovalRecord | undefined): ResponseOf<'getPayout'> {
  return {
    id: payout.id,
    ...toDocumentedPayout(payout),
    ...writeSold(payout),
    ...(payout.remittance === null ? {} : { userReference: payout.remittance }),
    ...(payout.feeAmount === null
      ? {}
      : { fee: toJsonAmount(payout.feeAmount, payout.soldCurrency ?? payout.currency) }),
    ...writeReferenceAmount(parseReference(payout.referenceAmount)),
    endToEndId: endToEndIdSent(payout),
    rail: payout.rail,
    createdAt: payout.createdAt.toISOString(),
    updatedAt: payout.updatedAt.toISOString(),
    ...(payout.idempotencyKey === null ? {} : { idempotencyKey: payout.idempotencyKey }),
    ...(payout.beneficiaryId === null ? {} : { beneficiaryId: payout.beneficiaryId }),
    ...(payout.customerId === null ? {} : { customerId: payout.customerId }),
    ...(payout.approvalExpiresAt === null ? {} : { approvalExpiresAt: payout.approvalExpiresAt.toISOString() }),
    ...(decision === undefined ? {} : { approval: toApproval(decision) }),
    ...(payout.transactionHash === null ? {} : { transactionHash: payout.transactionHash }),
    ...(payout.errorKey === null ? {} : { errorKey: payout.errorKey }),
  }
}

const decisions = { approved: 'Approved', rejected: 'Rejected', expired: 'Expired', cancelled: 'Cancelled' } as const

const toApproval = ({ decision, decidedBy, decidedName, decidedAt, reason, payeeSalt }: ApprovalRecord) => ({
  ...(decision === null ? {} : { decision: decisions[decision] }),
  ...(decidedBy === null ? {} : { decidedBy: { id: decidedBy, name: decidedName ?? '' } }),
  ...(decidedAt === null ? {} : { decidedAt: decidedAt.toISOString() }),
  ...(reason === null ? {} : { reason }),
  ...(payeeSalt === null ? {} : { payeeSalt }),
})

function toPreview({ call, verdicts, payout, forecast }: Preview): ResponseOf<'previewFiatPayout'> {
  const { amount, currency } = call
  const fee = payout?.fee ?? 0n
  const [leaving] = controlledAmountsOfCall(call)
  return {
    // A payment that the bank would refuse is accepted, and fails afterwards.
    accepted: verdicts.every(({ rule, verdict }) => verdict !== 'failed' || rule === 'reach' || rule === 'payeeCheck'),
    ...(payout === undefined
      ? {}
      : { status: payout.approval === null ? ('Pending' as const) : ('PendingApproval' as const) }),
    amount: toJsonAmount(amount, currency),
    currency,
    fee: toJsonAmount(fee, leaving.currency),
    total: toJsonAmount(leaving.amount + fee, leaving.currency),
    ...(payout === undefined ? {} : { rail: payout.rail, ...writeReferenceAmount(payout.reference) }),
    ...(forecast?.possible === true ? toRoute(forecast) : {}),
    rules: verdicts.map(({ hold, repeated, amounts, ...verdict }) => ({
      ...verdict,
      ...(amounts === undefined ? {} : { amounts: amounts.map(toAmount) }),
      ...(hold === undefined ? {} : { hold: explainHold(hold) }),
      ...(repeated === undefined ? {} : withoutEmpty(toPossibleDuplicates(repeated))),
    })),
  }
}

const toPossibleDuplicates = ({ earlier, scheduled }: PossibleDuplicates) => ({
  data: earlier.map(toEarlier),
  scheduled: scheduled.map(({ reference, because, createdAt, dueAt, creditorName, ...order }) => ({
    ...{ standingOrderId: order.id, currency: order.currency, beneficiaryName: creditorName },
    ...(reference === null ? {} : { userReference: reference }),
    amount: toJsonAmount(order.amount, order.currency),
    nextAttemptAt: dueAt.toISOString(),
    createdAt: createdAt.toISOString(),
    sameReference: because === 'reference',
  })),
})

const toAmount = ({ kind, amount, currency }: RuleAmount) => ({
  kind,
  amount: toJsonAmount(amount, currency),
  currency,
})

/** Omits empty lists. */
const withoutEmpty = ({ data: earlier, scheduled }: ReturnType<typeof toPossibleDuplicates>) => ({
  ...(earlier.length === 0 ? {} : { earlier }),
  ...(scheduled.length === 0 ? {} : { scheduled }),
})

const toEarlier = ({
  remittance,
  because,
  createdAt,
  creditorName,
  ...payout
}: PossibleDuplicates['earlier'][number]) => ({
  ...payout,
  ...(remittance === null ? {} : { userReference: remittance }),
  beneficiaryName: creditorName,
  amount: toJsonAmount(payout.amount, payout.currency),
  createdAt: createdAt.toISOString(),
  sameReference: because === 'reference',
})

const toNote = ({ payoutId, row }: Awaited<ReturnType<Payouts['note']>>) => ({
  payoutId,
  ...(row === undefined
    ? {}
    : {
        ...(row.note === null ? {} : { note: row.note }),
        updatedBy: row.writtenByName,
        updatedAt: row.updatedAt.toISOString(),
      }),
})

const toRoute = ({ method, cutOffAt, submitsAt, valueDate, arrivesOn }: Extract<Forecast, { possible: true }>) => ({
  method,
  submitsAt: submitsAt.toISOString(),
  valueDate,
  ...(cutOffAt === null ? {} : { cutOffAt: cutOffAt.toISOString() }),
  ...(arrivesOn === null ? {} : { arrivesOn }),
})
