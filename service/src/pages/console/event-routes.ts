/** Events: the list, the page of one with its deliveries, and the form that sends one again. */
import type { ResponseOf } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { type EventDelivery, eventFilters, eventPage, eventsPage } from './event-page.ts'
import {
  callOf,
  ifFound,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
} from './payments-request.ts'
import { type Frame, idOf, page, type Visitor, readForm, type GuestPages, seeOther, uuid } from './request.ts'
import { paymentTexts } from './texts/payments.ts'
import { transactionHref } from './transaction-routes.ts'

const rowOf = ({ id, eventType, reference, occurredAt }: Omit<ResponseOf<'getEvent'>, 'deliveries' | 'data'>) => ({
  ...{ id, type: eventType, reference },
  occurredAt: new Date(occurredAt),
})

async function showList({ operate }: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const { view } = person
  const [types, { data, shown }] = await Promise.all([
    operate('listEventTypes', callOf(person, request)),
    readList(request, person, eventFilters, async ({ cursor, ...values }) => {
      const query = queryText({ ...values, order: 'newest', after: cursor })
      const { hasMore, ...feed } = await operate('listEvents', { ...callOf(person, request), query })
      return { ...feed, nextCursor: hasMore ? feed.nextCursor : null }
    }),
  ])
  const rows = data.map((event) => ({ ...rowOf(event), sequence: event.sequence }))
  const events = { ...shown, rows, types: types.data.map(({ name }) => name) }
  return page(request, statusOf(shown.problems), eventsPage({ ...view, current: 'events' }, events))
}

type DeliveryKey = ResponseOf<'getEvent'>['deliveries'][number]

/** A delivery with its endpoint. Undefined: the endpoint was deleted meanwhile. */
async function deliveryOf(
  { operate }: Frame,
  request: PublicRequest,
  person: Visitor,
  { subscriptionId, eventId }: DeliveryKey,
): Promise<EventDelivery | undefined> {
  const call = { ...callOf(person, request), params: { id: subscriptionId } }
  const [subscription, delivery] = await Promise.all([
    ifFound(operate('getSubscription', call)),
    ifFound(operate('getDelivery', { ...call, params: { id: subscriptionId, eventId } })),
  ])
  if (subscription === undefined || delivery === undefined) return undefined
  const { status, attempts, nextAttemptAt } = delivery
  return {
    ...{ subscriptionId, eventId, url: subscription.url, status },
    attempts: attempts.map((each) => ({ ...each, startedAt: new Date(each.startedAt) })),
    nextAttemptAt: nextAttemptAt === null ? undefined : new Date(nextAttemptAt),
    idempotencyKey: newId(),
  }
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Visitor,
  problems: Problems = {},
): Promise<PublicAnswer> {
  const { view, caller } = person
  const found = await frame.operate('getEvent', { ...callOf(person, request), params: { id: idOf(request) } })
  const { reference, data } = found
  const deliveries = await Promise.all(found.deliveries.map((key) => deliveryOf(frame, request, person, key)))
  // The reference of a sample, or of an event that is about no payment, names no transaction.
  const transaction = caller.permissions.includes('transactions:read')
    ? await ifFound(frame.operate('getTransaction', { ...callOf(person, request), params: { reference } }))
    : undefined
  const shown = {
    ...rowOf(found),
    transactionHref: transaction && transactionHref(view, reference),
    ...{ data, problems },
    deliveries: deliveries.filter((each) => each !== undefined),
    mayWrite: caller.permissions.includes('webhooks:write'),
    done: readQuery(request, ['done'])['done'] === 'redelivered' ? ('redelivered' as const) : undefined,
  }
  return page(request, statusOf(problems), eventPage({ ...view, current: 'events' }, shown))
}

async function redeliver(frame: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const [id, given] = [idOf(request), readForm(request)]
  const [subscriptionId, eventId] = [given('subscriptionId'), given('eventId')]
  if (!uuid.test(subscriptionId) || !uuid.test(eventId)) throw notFound('page')
  const call = { ...callOf(person, request), params: { id: subscriptionId, eventId } }
  try {
    await frame.operate('redeliver', { ...call, idempotencyKey: given('idempotencyKey') || newId() })
  } catch (error) {
    return showOne(frame, request, person, problemsOf(paymentTexts[person.view.language], error, []))
  }
  return seeOther(`../${id}?done=redelivered`)
}

export const eventRoutes: GuestPages = (frame, withVisitor) => {
  const route = routesOf(frame, withVisitor, 'events')
  return [
    route('GET', '', 'webhooks:read', showList),
    route('GET', '/{id}', 'webhooks:read', showOne),
    route('POST', '/{id}/redeliver', 'webhooks:write', redeliver),
  ]
}
