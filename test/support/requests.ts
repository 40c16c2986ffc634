/**
 * One valid request for each operation of the table. The generated tests derive the invalid requests from it. A new
 * operation without a request here does not compile.
 */
import { randomUUID } from 'node:crypto'
import { type Operation, type OperationId, operationIds, operations } from '@partner-payments/wire'
import type { JsonObject } from './client.ts'
import { pain001Text } from './pain001.ts'
import { type World, ibans, invitee, monthly, payoutText, uniqueEmail } from './world.ts'

export type ValidRequest = { readonly target: string; readonly body?: string }

const at = (target: string, body?: JsonObject | string): ValidRequest =>
  body === undefined ? { target } : { target, body: typeof body === 'string' ? body : JSON.stringify(body) }

const payerAddress = '0x52908400098527886E0F7030069857D2E4169EE7'

/** Inserts the amount as a literal, so that the test determines its digits. */
const withAmount = (fields: JsonObject, amount = '10.00') => `{"amount":${amount},${JSON.stringify(fields).slice(1)}`

/** A period that has ended, so that its report is ready at once. */
export const lastDay = () => {
  const to = new Date(Date.now() - 60_000)
  return { from: new Date(to.getTime() - 86_400_000).toISOString(), to: to.toISOString() }
}

const kyc = {
  addressLine1: '12 St James Square',
  city: 'London',
  citizenshipCountryCode: 'GB',
  dateOfBirth: '1815-12-10',
  fullName: 'Ada Lovelace',
  uboFirstName1: 'Annabella',
  uboLastName1: 'Byron',
  personalIdentificationNumber: 'QQ123456C',
}

const valid: Readonly<Record<OperationId, (world: World) => ValidRequest>> = {
  createInvitations: () => at('/v1/users/invitations', { invitations: [invitee()], expiryInDays: 3 }),
  listInvitations: () => at('/v1/users/invitations'),
  getInvitation: (world) => at(`/v1/users/invitations/${world.invitation}`),
  resendInvitation: (world) =>
    at(`/v1/users/invitations/${world.invitation}/resend`, { redirectUrl: 'https://partner.example.com/join' }),
  revokeInvitation: (world) => at(`/v1/users/invitations/${world.invitation}`),
  createFiatPayout: (world) =>
    at('/v1/payouts/fiat', payoutText(world.beneficiary, '10.00', { reference: randomUUID() })),
  previewFiatPayout: (world) =>
    at('/v1/payouts/fiat/preview', payoutText(world.beneficiary, '10.00', { reference: randomUUID() })),
  createTokenPayout: (world) =>
    at(
      '/v1/payouts/token',
      withAmount(
        {
          beneficiaryId: world.tokenBeneficiary,
          currency: 'USDC',
          idempotencyKey: randomUUID(),
          reference: randomUUID(),
        },
        '1.25',
      ),
    ),
  createBulkPayout: (world) =>
    at(
      '/v1/payouts/bulk',
      `{"mode":"BestEffort","idempotencyKey":"${randomUUID()}","payouts":[${payoutText(world.beneficiary, '10.00', { reference: randomUUID() })}]}`,
    ),
  createBulkPayoutFromFile: (world) =>
    at('/v1/payouts/bulk/pain001', {
      mode: 'BestEffort',
      idempotencyKey: randomUUID(),
      customerId: world.customer,
      document: pain001Text(randomUUID().replaceAll('-', ''), [{ minor: 100n }]),
    }),
  listBulkPayouts: () => at('/v1/payouts/bulk'),
  getBulkPayout: (world) => at(`/v1/payouts/bulk/${world.bulk}`),
  listBulkPayoutItems: (world) => at(`/v1/payouts/bulk/${world.bulk}/items`),
  createStandingOrder: (world) =>
    at(
      '/v1/payouts/standing-orders',
      withAmount(
        { beneficiaryId: world.beneficiary, currency: 'EUR', reference: 'Rent', schedule: monthly() },
        '950.00',
      ),
    ),
  listStandingOrders: () => at('/v1/payouts/standing-orders'),
  getStandingOrder: (world) => at(`/v1/payouts/standing-orders/${world.standingOrder}`),
  pauseStandingOrder: (world) => at(`/v1/payouts/standing-orders/${world.standingOrder}/pause`),
  resumeStandingOrder: (world) => at(`/v1/payouts/standing-orders/${world.standingOrder}/resume`),
  cancelStandingOrder: (world) => at(`/v1/payouts/standing-orders/${world.endedOrder}/cancel`),
  listStandingOrderExecutions: (world) => at(`/v1/payouts/standing-orders/${world.madeOrder}/executions`),
  listPayoutLimits: () => at('/v1/payouts/limits'),
  listPayoutFees: () => at('/v1/payouts/fees'),
  createPayoutRecall: (world) => at(`/v1/payouts/${world.recallable}/recall`, { reason: 'DUPL', text: 'Paid twice.' }),
  listPayoutRecalls: (world) => at(`/v1/payouts/${world.recalled}/recalls`),
  getPayoutRecall: (world) => at(`/v1/payouts/${world.recalled}/recalls/${world.recall}`),
  listPayouts: () => at('/v1/payouts'),
  getPayout: (world) => at(`/v1/payouts/${world.payout}`),
  getPayoutVerification: (world) => at(`/v1/payouts/${world.verifiedPayout}/verification`),
  createFxPayout: (world) =>
    at('/v1/payouts/fx', {
      quoteId: world.payoutQuote,
      beneficiaryId: world.foreignBeneficiary,
      idempotencyKey: randomUUID(),
      reference: randomUUID(),
    }),
  previewFxPayout: (world) =>
    at('/v1/payouts/fx/preview', { quoteId: world.payoutQuote, beneficiaryId: world.foreignBeneficiary }),
  cancelPayout: (world) => at(`/v1/payouts/${world.cancelled}/cancel`),
  approvePayout: (world) => at(`/v1/payouts/${world.held}/approve`),
  rejectPayout: (world) => at(`/v1/payouts/${world.heldToReject}/reject`, { reason: 'The invoice was paid before.' }),
  getFxRates: () => at('/v1/fx/rates'),
  createFxQuote: (world) =>
    at(
      '/v1/fx/quotes',
      `{"sellAmount":100.00,${JSON.stringify({ sellCurrency: 'EUR', buyCurrency: 'USD', kind: 'firm', customerId: world.customer }).slice(1)}`,
    ),
  getFxQuote: (world) => at(`/v1/fx/quotes/${world.quote}`),
  createFxConversion: (world) =>
    at('/v1/fx/conversions', { quoteId: world.quote, idempotencyKey: randomUUID(), reference: randomUUID() }),
  createBeneficiary: (world) =>
    at('/v1/beneficiaries', {
      customerId: world.customer,
      alias: 'grace',
      name: 'Grace Hopper',
      iban: ibans.NL,
      bic: 'ABNANL2A',
      country: 'NL',
      currency: 'EUR',
    }),
  listBeneficiaries: () => at('/v1/beneficiaries'),
  updateBeneficiary: (world) =>
    at('/v1/beneficiaries', { id: world.beneficiary, alias: 'rear', name: 'Grace B. Hopper' }),
  getBeneficiary: (world) => at(`/v1/beneficiaries/${world.beneficiary}`),
  deleteBeneficiary: (world) => at(`/v1/beneficiaries/${world.beneficiary}`),
  createBeneficiaryVerification: () => at('/v1/beneficiaries/verifications', { name: 'Grace Hopper', iban: ibans.NL }),
  listBeneficiaryVerifications: () => at('/v1/beneficiaries/verifications'),
  getBeneficiaryVerification: (world) => at(`/v1/beneficiaries/verifications/${world.verification}`),
  getVerificationOfBeneficiary: (world) => at(`/v1/beneficiaries/${world.verifiedBeneficiary}/verification`),
  createCheckoutSession: () =>
    at(
      '/v1/checkout/sessions',
      withAmount({
        currency: 'EUR',
        idempotencyKey: randomUUID(),
        customer: { email: 'ada@example.com', fullName: 'Ada Lovelace', residenceCountryCode: 'DE' },
        paymentCountryCode: 'DE',
        paymentMethod: 'SepaCreditTransfer',
        returnUrl: 'https://shop.example.com/orders/42',
        websiteReference: randomUUID(),
        customFields: { order: 'A-1' },
        expiresInSeconds: 3600,
      }),
    ),
  listCheckoutSessions: () => at('/v1/checkout/sessions'),
  getCheckoutSession: (world) => at(`/v1/checkout/sessions/${world.session}`),
  expireCheckoutSession: (world) => at(`/v1/checkout/sessions/${world.session}/expire`),
  createCustomer: () =>
    at('/v1/customers', {
      email: uniqueEmail(),
      partnerCustomerIdentifier: randomUUID(),
      customerType: 'Individual',
      kyc,
    }),
  listCustomers: () => at('/v1/customers'),
  getCustomer: (world) => at(`/v1/customers/${world.customer}`),
  getCustomerVerification: (world) => at(`/v1/customers/${world.customer}/verification`),
  listCustomerChanges: (world) => at(`/v1/customers/${world.customer}/history`),
  exportCustomer: (world) => at(`/v1/customers/${world.customer}/export`),
  eraseCustomer: (world) => at(`/v1/customers/${world.erasable}/erase`, { nothingOwed: true }),
  updateCustomer: (world) =>
    at(`/v1/customers/${world.customer}`, { email: uniqueEmail(), partnerCustomerIdentifier: randomUUID(), kyc }),
  createCustomerAccount: (world) => at(`/v1/customers/${world.customer}/account`),
  getCustomerAccount: (world) => at(`/v1/customers/${world.customer}/account`),
  listAccounts: () => at('/v1/accounts'),
  createAccountMonitor: (world) =>
    at(`/v1/accounts/${world.tokenBalance}/monitors`, {
      threshold: 100,
      direction: 'Below',
      rearmAt: 150,
      measure: 'Available',
      notify: { emails: [world.member], event: true },
      description: 'Float is low',
    }),
  listAccountMonitors: (world) => at(`/v1/accounts/${world.tokenBalance}/monitors`),
  getAccountMonitor: (world) => at(`/v1/accounts/${world.tokenBalance}/monitors/${world.monitor}`),
  updateAccountMonitor: (world) =>
    at(`/v1/accounts/${world.tokenBalance}/monitors/${world.monitor}`, {
      direction: 'Above',
      threshold: 5000,
      rearmAt: 4500,
      measure: 'Posted',
      notify: { emails: [], event: true },
      description: 'Much money',
    }),
  deleteAccountMonitor: (world) => at(`/v1/accounts/${world.tokenBalance}/monitors/${world.monitor}`),
  listAccountMonitorCrossings: (world) => at(`/v1/accounts/${world.tokenBalance}/monitors/${world.monitor}/crossings`),
  listAccountEntries: (world) => at(`/v1/accounts/${world.balance}/entries`),
  listAccountStateChanges: () => at('/v1/accounts/state-changes'),
  listCustomerBalances: (world) => at(`/v1/customers/${world.customer}/account/balances`),
  listCustomerAccountEntries: (world) => at(`/v1/customers/${world.customer}/account/balances/EUR/entries`),
  listTransactions: () => at('/v1/transactions'),
  getTransaction: (world) => at(`/v1/transactions/${world.reference}`),
  exportTransactions: () => at('/v1/exports/transactions'),
  listAuditRecords: () => at('/v1/audit'),
  listAuditHeads: () => at('/v1/audit/heads'),
  getTransactionProof: (world) => at(`/v1/transactions/${world.reference}/proof`),
  listRelatedTransactions: (world) => at(`/v1/transactions/${world.reference}/related`),
  getTransactionTimeline: (world) => at(`/v1/transactions/${world.reference}/timeline`),
  listEventTypes: () => at('/v1/webhooks/event-types'),
  createSubscription: () =>
    at('/v1/webhooks', {
      url: 'https://partner.example.com/hooks',
      events: ['partner.customer.deposit.completed'],
      description: 'Ledger',
      apiVersion: 2,
      ordered: false,
      signature: 'v1',
    }),
  listSubscriptions: () => at('/v1/webhooks'),
  getSubscription: (world) => at(`/v1/webhooks/${world.subscription}`),
  updateSubscription: (world) =>
    at(`/v1/webhooks/${world.subscription}`, {
      url: 'https://partner.example.com/hooks',
      events: ['transaction.status.changed'],
      description: 'Ledger',
      ordered: false,
      status: 'Enabled',
    }),
  deleteSubscription: (world) => at(`/v1/webhooks/${world.subscription}`),
  listDeliveries: (world) => at(`/v1/webhooks/${world.subscription}/deliveries`),
  getDelivery: (world) => at(`/v1/webhooks/${world.subscription}/deliveries/${world.delivery}`),
  redeliver: (world) => at(`/v1/webhooks/${world.subscription}/deliveries/${world.delivery}/redeliver`),
  rotateSecret: (world) =>
    at(`/v1/webhooks/${world.subscription}/rotate-secret`, { overlapSeconds: 60, signature: 'v1' }),
  testSubscription: (world) =>
    at(`/v1/webhooks/${world.subscription}/test`, { eventType: 'transaction.status.changed' }),
  enableSubscription: (world) => at(`/v1/webhooks/${world.subscription}/enable`),
  startRecovery: (world) => {
    const until = new Date()
    const since = new Date(until.getTime() - 1000)
    const body = { since: since.toISOString(), until: until.toISOString() }
    return at(`/v1/webhooks/${world.subscription}/recover`, body)
  },
  listRecoveries: (world) => at(`/v1/webhooks/${world.subscription}/recoveries`),
  getRecovery: (world) => at(`/v1/webhooks/${world.subscription}/recoveries/${world.recovery}`),
  getSubscriptionStatistics: (world) => at(`/v1/webhooks/${world.subscription}/statistics`),
  listEvents: () => at('/v1/events'),
  createReport: () =>
    at('/v1/reports', {
      kind: 'statement',
      format: 'csv',
      currency: 'EUR',
      ...lastDay(),
      idempotencyKey: randomUUID(),
    }),
  listReports: () => at('/v1/reports'),
  getReport: (world) => at(`/v1/reports/${world.report}`),
  getReportContent: (world) => at(`/v1/reports/${world.report}/content`),
  deleteReport: (world) => at(`/v1/reports/${world.report}`),
  createReportSchedule: (world) =>
    at('/v1/reports/schedules', {
      kind: 'statement',
      format: 'pdf',
      currency: 'EUR',
      customerId: world.customer,
      frequency: 'monthly',
      emails: [world.member],
      timeZone: 'Europe/Berlin',
    }),
  listReportSchedules: () => at('/v1/reports/schedules'),
  getReportSchedule: (world) => at(`/v1/reports/schedules/${world.schedule}`),
  deleteReportSchedule: (world) => at(`/v1/reports/schedules/${world.schedule}`),
  simulateDeposit: (world) =>
    at(
      '/v1/simulations/deposits',
      withAmount({
        customerId: world.customer,
        currency: 'EUR',
        outcome: 'completed',
        websiteReference: randomUUID(),
        idempotencyKey: randomUUID(),
        customFields: { order: 'A-1' },
      }),
    ),
  simulateWalletDeposit: (world) =>
    at(`/v1/simulations/wallets/${world.wallet}/deposits`, withAmount({ from: payerAddress, confirmations: 1 })),
  simulateChainReorganisation: () => at('/v1/simulations/chain/reorganisations', { depth: 1 }),
  simulateChainBlocks: () => at('/v1/simulations/chain/blocks', { count: 1 }),
  createWallet: (world) => at('/v1/wallets', { customerId: world.customer, currency: 'EURC' }),
  listWallets: () => at('/v1/wallets'),
  getWallet: (world) => at(`/v1/wallets/${world.wallet}`),
  diagnoseSignature: () =>
    at('/v1/simulations/signature', {
      method: 'POST',
      path: '/v1/customers',
      query: '',
      body: '{}',
      timestamp: '1767225600',
      nonce: randomUUID(),
      signature: 'AAAA',
      canonicalString: 'POST',
    }),
  simulateCheckoutSession: (world) =>
    at(`/v1/simulations/checkout/sessions/${world.session}`, { step: 'initiate', countryCode: 'DE' }),
  simulateCredit: (world) =>
    at(
      '/v1/simulations/credits',
      withAmount({ iban: world.iban, currency: 'EUR', debtorName: 'Ada Lovelace', remittance: 'Thank you' }),
    ),
  reverseSimulatedCredit: (world) => at(`/v1/simulations/credits/${world.credit}/reversal`),
  simulateEvent: () => at('/v1/simulations/events', { eventType: 'transaction.status.changed' }),
  simulateFxRates: () => at('/v1/simulations/fx/rates', '{"base":"EUR","quote":"USD","rate":1.25,"stale":false}'),
  simulateWithdrawal: (world) =>
    at(
      '/v1/simulations/withdrawals',
      withAmount({ customerId: world.customer, currency: 'EUR', outcome: 'sent', idempotencyKey: randomUUID() }),
    ),
}

export type Subject = {
  readonly id: OperationId
  readonly operation: Operation
  /** For test titles: `POST /v1/payouts/fiat`. */
  readonly name: string
  readonly isWrite: boolean
  readonly request: (world: World) => ValidRequest
}

/** Every operation of the table, with its valid request. */
export const subjects: readonly Subject[] = operationIds.map((id) => {
  const operation: Operation = operations[id]
  const name = `${operation.method} ${operation.path}`
  return { id, operation, name, isWrite: operation.permission.endsWith(':write'), request: valid[id] }
})
export const subjectsWithBody = subjects.filter((subject) => subject.operation.body !== undefined)
