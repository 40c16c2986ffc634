/** The webhook endpoints of a partner, and the page of one endpoint with its deliveries. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { asking, badge, call, hiddenField, message, openDialog, table, time } from './components.ts'
import { facts, filters, list, optionsOf, type Pages, select, strip } from './lists.ts'
import { type Problems, type Values } from './payments-request.ts'
import { developerTexts } from './texts/developers.ts'
import { guestTexts } from './texts/guests.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export type WebhookRow = {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly status: 'Enabled' | 'Disabled'
  readonly createdAt: Date
}

const createCall = `POST /v1/webhooks
{ "url": "https://partner.example.com/hooks", "events": ["*"] }`

const statusBadge = (view: ConsoleView, status: WebhookRow['status']): Html =>
  badge(status === 'Enabled' ? 'good' : 'bad', developerTexts[view.language].subscriptionStatus[status])

type Webhooks = Listed<WebhookRow> & {
  readonly mayWrite: boolean
  /** True if the person may see the guest links. */
  readonly hasGuests: boolean
  readonly done?: 'deleted' | undefined
}

export function webhooksPage(view: ConsoleView, { rows, mayWrite, hasGuests, done, ...shown }: Webhooks): string {
  const d = developerTexts[view.language]
  const guests = html`<a class="button" href="${view.root}webhooks/guests">${guestTexts[view.language].button}</a>`
  return listPage(view, shown, {
    title: view.t.webhooks,
    path: 'webhooks',
    lead: d.lead,
    done: done && d[done],
    ...(hasGuests && { links: guests }),
    create: mayWrite && { text: d.newWebhook, href: `${view.root}webhooks/new` },
    columns: [[d.url, 'head'], d.events, d.status, d.created],
    cells: rows.map(({ id, url, events, status, createdAt }) => [
      html`<a href="${view.root}webhooks/${id}">${url}</a>`,
      events.join(', '),
      statusBadge(view, status),
      time(view, createdAt, 'date'),
    ]),
    none: { title: d.empty, text: d.emptyText, more: call(view, createCall, d.createCall) },
  })
}

export const deliveryFilters: readonly string[] = ['status']

export type DeliveryRow = {
  readonly eventId: string
  readonly eventType: string
  readonly reference: string
  readonly status: 'Pending' | 'Delivered' | 'Held'
  readonly createdAt: Date
  readonly attempts: readonly {
    readonly startedAt: Date
    readonly status?: number | undefined
    readonly error?: string | undefined
    readonly responseBody?: string | undefined
  }[]
  /** Key of the form that sends again, so that a double click sends once. */
  readonly idempotencyKey: string
}

export type Webhook = WebhookRow & {
  readonly note?: string | undefined
  readonly signature: string
  readonly reason?: 'Partner' | 'Gone' | 'Failing' | undefined
  readonly failingSince?: Date | undefined
  readonly counts: { readonly delivered: number; readonly pending: number; readonly held: number }
  /** Counting stopped, so that each count is a lower bound. */
  readonly isCapped: boolean
  readonly deliveries: readonly DeliveryRow[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
  readonly mayWrite: boolean
  /** Key of the form that makes a new secret, so that a double click makes one. */
  readonly idempotencyKey: string
  readonly done?: 'enabled' | 'redelivered' | undefined
  readonly test?: TestOfWebhook | undefined
}

/** The result of a test event that was just sent. */
export type TestOfWebhook = {
  readonly delivered: boolean
  readonly durationMs: number
  readonly status?: number | undefined
  readonly error?: string | undefined
  readonly responseBody?: string | undefined
}

export function webhookPage(view: ConsoleView, webhook: Webhook): string {
  const d = developerTexts[view.language]
  const { id, url, status, counts, isCapped, done, values, problems, pages, mayWrite } = webhook
  const path = `${view.root}webhooks/${id}`
  const count = (n: number) => {
    const text = n.toLocaleString(view.language)
    return isCapped ? fill(d.atLeast, { count: text }) : text
  }
  return shell(view, {
    title: url,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', d[done])}
      <div class="heading">
        <h1>${url}</h1>
        ${mayWrite && webhookButtons(view, status, path)}
      </div>
      ${webhook.test && testResult(view, webhook.test)}
      ${strip([
        [d.status, statusBadge(view, status)],
        [d.delivered, count(counts.delivered)],
        [d.pending, count(counts.pending)],
        [d.held, count(counts.held)],
      ])}
      ${facts([
        [d.events, webhook.events.join(', ')],
        [d.signature, webhook.signature],
        [d.note, webhook.note],
        [d.disabled, webhook.reason && d.reason[webhook.reason]],
        [d.failingSince, webhook.failingSince && time(view, webhook.failingSince)],
        [d.created, time(view, webhook.createdAt)],
      ])}
      <h2>${d.deliveries}</h2>
      ${filters(view, {
        path,
        main: [
          select({
            ...{ id: 'status', name: 'status', label: d.status, value: values['status'], error: problems['status'] },
            ...{ options: optionsOf(d.deliveryStatus), any: paymentTexts[view.language].any },
          }),
        ],
        active: Object.keys(values).length > 0,
      })}
      ${list(view, {
        table: deliveryTable(view, webhook, path),
        isEmpty: webhook.deliveries.length === 0,
        isFiltered: Object.keys(values).length > 0 || pages.first !== undefined,
        none: {
          title: d.deliveriesEmpty,
          text: d.deliveriesEmptyText,
          more: call(view, `GET /v1/webhooks/${id}/deliveries`, d.listCall),
        },
        pages,
      })}
      ${mayWrite && webhookDialogs(view, webhook, path)}`,
  })
}

const [rotateId, deleteId] = ['rotate', 'delete'] as const

const webhookButtons = (view: ConsoleView, status: WebhookRow['status'], path: string): Html => {
  const d = developerTexts[view.language]
  return html`<div class="buttons">
    <form method="post" action="${path}/test"><button type="submit">${d.sendTest}</button></form>
    ${
      status === 'Disabled' &&
      html`<form method="post" action="${path}/enable">
        <button type="submit" class="primary">${d.enable}</button>
      </form>`
    }
  </div>`
}

function testResult(view: ConsoleView, { delivered, durationMs, status, error, responseBody }: TestOfWebhook): Html {
  const d = developerTexts[view.language]
  const text = delivered
    ? fill(d.testDelivered, { status: String(status), ms: String(durationMs) })
    : fill(d.testRefused, { reason: error ?? d.noAnswer })
  return html`${message(delivered ? 'good' : 'bad', text)}
  ${responseBody && html`<pre tabindex="0"><code>${responseBody}</code></pre>`}`
}

/** The forms that ask first: a new secret, and the end of the endpoint. */
function webhookDialogs(view: ConsoleView, { url, idempotencyKey }: Webhook, path: string): Html {
  const d = developerTexts[view.language]
  const ask = (id: string) => ({ id, action: `${path}/${id}`, cancel: view.t.cancel })
  return html`<p class="buttons">
      ${openDialog({ id: rotateId, label: d.rotate, about: url })}
      ${openDialog({ id: deleteId, label: d.deleteWebhook, about: url, tone: 'danger' })}
    </p>
    ${asking({
      ...{ ...ask(rotateId), title: d.rotateTitle, effects: [d.rotateEffect, d.rotateOverlap] },
      ...{ about: hiddenField('idempotencyKey', idempotencyKey), submit: d.rotate, look: 'primary' },
    })}
    ${asking({
      ...{ ...ask(deleteId), title: d.deleteTitle, effects: [d.deleteEffect, d.deleteFeed], submit: d.deleteWebhook },
    })}`
}

const tones = { Pending: 'warning', Delivered: 'good', Held: 'bad' } as const

export const deliveryBadge = ({ language }: ConsoleView, status: DeliveryRow['status']): Html =>
  badge(tones[status], developerTexts[language].deliveryStatus[status])

function deliveryTable(view: ConsoleView, { deliveries, mayWrite }: Webhook, path: string): Html {
  const d = developerTexts[view.language]
  return table({
    caption: d.deliveries,
    columns: [
      [d.event, 'head'],
      d.reference,
      d.status,
      d.created,
      d.attempts,
      ...(mayWrite ? [[view.t.actions, 'actions'] as const] : []),
    ],
    rows: deliveries.map((row) => [
      html`<span title="${row.eventId}">${row.eventType}</span>`,
      row.reference,
      deliveryBadge(view, row.status),
      time(view, row.createdAt),
      attemptsOf(view, row),
      ...(mayWrite
        ? [
            html`<form method="post" action="${path}/redeliver">
              ${hiddenField('eventId', row.eventId)} ${hiddenField('idempotencyKey', row.idempotencyKey)}
              <button type="submit" class="small">${d.redeliver}<span class="away"> ${row.reference}</span></button>
            </form>`,
          ]
        : []),
    ]),
  })
}

export function attemptsOf(view: ConsoleView, { attempts }: Pick<DeliveryRow, 'attempts'>): Html | string {
  const d = developerTexts[view.language]
  if (attempts.length === 0) return '0'
  return html`<details>
    <summary>${attempts.length}</summary>
    <ol>
      ${attempts.map(
        ({ startedAt, status, error, responseBody }) =>
          html`<li>
            ${time(view, startedAt)}: ${status ?? d.noAnswer} ${error}
            ${responseBody !== undefined && html`<pre tabindex="0"><code>${responseBody}</code></pre>`}
          </li>`,
      )}
    </ol>
  </details>`
}
