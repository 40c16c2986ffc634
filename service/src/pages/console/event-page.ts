/** The events of a partner, and the page of one with its data and its deliveries. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed, isPart } from './list-page.ts'
import { call, copyButton, hiddenField, message, table, time } from './components.ts'
import { facts, freeText, identifier, strip } from './lists.ts'
import { linkOf, type Problems } from './payments-request.ts'
import { developerTexts } from './texts/developers.ts'
import { eventTexts } from './texts/events.ts'
import { type ConsoleView, shell } from './view.ts'
import { attemptsOf, deliveryBadge, type DeliveryRow } from './webhooks-page.ts'

export const eventFilters: readonly string[] = ['types', 'reference']

export type EventRow = {
  readonly id: string
  readonly type: string
  readonly reference: string
  readonly occurredAt: Date
}

type Events = Listed<EventRow & { readonly sequence: number }> & { readonly types: readonly string[] }

export function eventsPage(view: ConsoleView, { rows, types, ...shown }: Events): string {
  const e = eventTexts[view.language]
  return listPage(view, shown, {
    title: view.t.events,
    path: 'events',
    lead: e.lead,
    filters: [
      { name: 'types', label: e.type, options: types.map((type) => [type, type]) },
      { name: 'reference', label: e.reference, charsMax: 140 },
    ],
    note: isPart(shown) && html`<p class="soft">${e.searched}</p>`,
    columns: [[e.type, 'head'], e.reference, e.occurred, [e.sequence, 'number']],
    cells: rows.map(({ id, type, reference, occurredAt, sequence }) => [
      html`<a href="${view.root}events/${id}">${type}</a>`,
      freeText(reference),
      time(view, occurredAt),
      String(sequence),
    ]),
    none: { title: e.empty, text: e.emptyText, more: call(view, 'GET /v1/events', e.call) },
  })
}

export type EventDelivery = Pick<DeliveryRow, 'status' | 'attempts' | 'idempotencyKey'> & {
  readonly subscriptionId: string
  readonly url: string
  /** The id of the event in the deliveries of this endpoint. */
  readonly eventId: string
  readonly nextAttemptAt?: Date | undefined
}

type Event = EventRow & {
  readonly transactionHref?: string | undefined
  readonly data: unknown
  readonly deliveries: readonly EventDelivery[]
  readonly mayWrite: boolean
  readonly done?: 'redelivered' | undefined
  readonly problems: Problems
}

export function eventPage(view: ConsoleView, event: Event): string {
  const e = eventTexts[view.language]
  const { id, type, reference, occurredAt, transactionHref, data, deliveries, done, problems } = event
  const json = JSON.stringify(data, null, 2)
  return shell(view, {
    title: type,
    problems,
    wide: true,
    main: html`${done !== undefined && message('good', developerTexts[view.language][done])}
      <h1>${type}</h1>
      ${strip([
        [e.reference, freeText(reference)],
        [e.occurred, time(view, occurredAt)],
      ])}
      ${facts([[e.id, identifier(view, id, e.id)]])}
      <p class="buttons">
        ${transactionHref !== undefined && html`<a class="button" href="${transactionHref}">${e.toTransaction}</a>`}
        <a class="button" href="${linkOf(`${view.root}events`, { reference })}">${fill(e.toEvents, { reference })}</a>
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
        <div class="call" role="group" aria-label="${e.data}">
          <pre tabindex="0"><code>${json}</code></pre>
          ${copyButton(view, json, e.data)}
        </div>
      </section>
      <p class="foot"><a href="${view.root}events">${e.back}</a></p>`,
  })
}

function deliveryTable(view: ConsoleView, { id, deliveries, mayWrite }: Event): Html {
  const e = eventTexts[view.language]
  const d = developerTexts[view.language]
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
      attemptsOf(view, row),
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
