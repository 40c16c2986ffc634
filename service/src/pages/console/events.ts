/** Events: the list, and the page of an event with its deliveries. */
import { referenceCharsMax, type ResponseOf } from '@partner-payments/wire'
import { ifFound, notFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { newId, uuidPattern } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import { hiddenField, type FieldProblems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { isPartial, type ListRows, listPage } from '../kit/lists.ts'
import { apiCall, copyBlock, facts, freeText, identifier, message, summaryStrip, table, time } from '../kit/parts.ts'
import {
  readId,
  pathWithQuery,
  page,
  queryText,
  readForm,
  readCompletedForm,
  seeOther,
  pageStatus,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import {
  callOf,
  type Frame,
  type Routes,
  refusalProblems,
  readList,
  placeRoutes,
  type Visitor,
  createWithVisitor,
} from './request.ts'
import { texts } from './texts/index.ts'
import { transactionHref } from './transactions.ts'
import { attemptList, deliveryBadge, type DeliveryRow } from './webhooks.ts'

const eventFilters: readonly string[] = ['types', 'reference']

type EventRow = {
  readonly id: string
  readonly type: string
  readonly reference: string
  readonly occurredAt: Date
}

type EventList = ListRows<EventRow & { readonly sequence: number }> & { readonly types: readonly string[] }

export function eventsPage(view: ConsoleView, { rows, types, ...shown }: EventList): string {
  const e = texts[view.language].events
  return listPage(view, shown, {
    title: view.t.events,
    path: 'events',
    lead: e.lead,
    filters: [
      { name: 'types', label: e.type, options: types.map((type) => [type, type]) },
      { name: 'reference', label: e.reference, charsMax: referenceCharsMax },
    ],
    note: isPartial(shown) && html`<p class="soft">${e.searched}</p>`,
    columns: [[e.type, 'head'], e.reference, e.occurred, [e.sequence, 'number']],
    cells: rows.map(({ id, type, reference, occurredAt, sequence }) => [
      html`<a href="${view.root}events/${id}">${type}</a>`,
      freeText(reference),
      time(view, occurredAt),
      String(sequence),
    ]),
    none: { title: e.empty, text: e.emptyText, more: apiCall(view, 'GET /v1/events', e.call) },
  })
}

type EventDelivery = Pick<DeliveryRow, 'status' | 'attempts' | 'idempotencyKey'> & {
  readonly subscriptionId: string
  readonly url: string
  /** The id of the event in the deliveries to this endpoint. */
  readonly eventId: string
  readonly nextAttemptAt?: Date | undefined
}

type EventView = EventRow & {
  readonly transactionHref?: string | undefined
  readonly data: unknown
  readonly deliveries: readonly EventDelivery[]
  readonly mayWrite: boolean
  readonly done?: 'redelivered' | undefined
  readonly problems: FieldProblems
}

export function eventPage(view: ConsoleView, event: EventView): string {
  const e = texts[view.language].events
  const { id, type, reference, occurredAt, transactionHref, data, deliveries, done, problems } = event
  const json = JSON.stringify(data, null, 2)
  return shell(view, {
    title: type,
    problems,
    wide: true,
    main: html`${done !== undefined && message('good', texts[view.language].developers[done])}
      <h1>${type}</h1>
      ${summaryStrip([
        [e.reference, freeText(reference)],
        [e.occurred, time(view, occurredAt)],
      ])}
      ${facts([[e.id, identifier(view, id, e.id)]])}
      <p class="buttons">
        ${transactionHref !== undefined && html`<a class="button" href="${transactionHref}">${e.toTransaction}</a>`}
        <a class="button" href="${pathWithQuery(`${view.root}events`, { reference })}"
          >${fill(e.toEvents, { reference })}</a
        >
      </p>
      <section aria-labelledby="deliveries-title">
        <h2 id="deliveries-title">${e.deliveries}</h2>
        ${
          deliveries.length === 0
            ? html`<p>${e.noDeliveries} <a href="${view.root}webhooks">${e.toWebhooks}</a></p>`
            : deliveryTable(view, event)
        }
      </section>
      <section aria-labelledby="data-title">
        <h2 id="data-title">${e.data}</h2>
        <p>${e.dataText}</p>
        ${copyBlock(view, json, e.data)}
      </section>
      <p class="foot"><a href="${view.root}events">${e.back}</a></p>`,
  })
}

function deliveryTable(view: ConsoleView, { id, deliveries, mayWrite }: EventView): Html {
  const e = texts[view.language].events
  const d = texts[view.language].developers
  return table({
    caption: e.deliveries,
    columns: [
      [e.endpoint, 'head'],
      e.status,
      e.attempts,
      e.nextAttempt,
      e.deliveryId,
      ...(mayWrite ? [[view.t.actions, 'actions'] as const] : []),
    ],
    rows: deliveries.map((row) => [
      html`<a href="${view.root}webhooks/${row.subscriptionId}">${row.url}</a>`,
      deliveryBadge(view, row.status),
      attemptList(view, row),
      row.nextAttemptAt === undefined ? '' : time(view, row.nextAttemptAt),
      identifier(view, row.eventId, e.deliveryId),
      ...(mayWrite
        ? [
            html`<form method="post" action="${view.root}events/${id}/redeliver">
              ${hiddenField('subscriptionId', row.subscriptionId)} ${hiddenField('eventId', row.eventId)}
              ${hiddenField('idempotencyKey', row.idempotencyKey)}
              <button type="submit" class="small">${d.redeliver}<span class="away"> ${row.url}</span></button>
            </form>`,
          ]
        : []),
    ]),
  })
}

const eventRow = ({ id, eventType, reference, occurredAt }: Omit<ResponseOf<'getEvent'>, 'deliveries' | 'data'>) => ({
  id,
  type: eventType,
  reference,
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
  const rows = data.map((event) => ({ ...eventRow(event), sequence: event.sequence }))
  const events = { ...shown, rows, types: types.data.map(({ name }) => name) }
  return page(request, pageStatus(shown.problems), eventsPage(view, events))
}

type DeliveryKey = ResponseOf<'getEvent'>['deliveries'][number]

/** Reads a delivery with its endpoint. Undefined: the endpoint was deleted meanwhile. */
async function readDelivery(
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
    subscriptionId,
    eventId,
    url: subscription.url,
    status,
    attempts: attempts.map((each) => ({ ...each, startedAt: new Date(each.startedAt) })),
    nextAttemptAt: nextAttemptAt === null ? undefined : new Date(nextAttemptAt),
    idempotencyKey: newId(),
  }
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Visitor,
  problems: FieldProblems = {},
): Promise<PublicAnswer> {
  const { view, caller } = person
  const found = await frame.operate('getEvent', { ...callOf(person, request), params: { id: readId(request) } })
  const { reference, data } = found
  const deliveries = await Promise.all(found.deliveries.map((key) => readDelivery(frame, request, person, key)))
  // Samples, and events that are not about a payment, have no transaction.
  const transaction = caller.permissions.includes('transactions:read')
    ? await ifFound(frame.operate('getTransaction', { ...callOf(person, request), params: { reference } }))
    : undefined
  const shown = {
    ...eventRow(found),
    transactionHref: transaction && transactionHref(view, reference),
    data,
    problems,
    deliveries: deliveries.filter((each) => each !== undefined),
    mayWrite: caller.permissions.includes('webhooks:write'),
    done: readCompletedForm(request, ['redelivered']),
  }
  return page(request, pageStatus(problems), eventPage(view, shown))
}

async function redeliver(frame: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const [id, given] = [readId(request), readForm(request)]
  const [subscriptionId, eventId] = [given('subscriptionId'), given('eventId')]
  if (!uuidPattern.test(subscriptionId) || !uuidPattern.test(eventId)) throw notFound('page')
  const call = { ...callOf(person, request), params: { id: subscriptionId, eventId } }
  try {
    await frame.operate('redeliver', { ...call, idempotencyKey: given('idempotencyKey') || newId() })
  } catch (error) {
    return showOne(frame, request, person, refusalProblems(texts[person.view.language].payments, error, []))
  }
  return seeOther(`../${id}?done=redelivered`)
}

export const eventRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, createWithVisitor(frame, frame.withMoney), 'events')
  return [
    route('GET', '', 'webhooks:read', showList),
    route('GET', '/{id}', 'webhooks:read', showOne),
    route('POST', '/{id}/redeliver', 'webhooks:write', redeliver),
  ]
}
