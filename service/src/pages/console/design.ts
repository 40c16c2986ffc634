/** A page with every component of the console in all its states. */
import type { DailyBalances } from '../../accounts/index.ts'
import { html, type Html } from '../html.ts'
import { confirmationDialog, inputs, dialogButton } from '../kit/forms.ts'
import { type ConsoleView, errorSummary, shell } from '../kit/frame.ts'
import { filterForm, list, pager, tabs } from '../kit/lists.ts'
import {
  account,
  badge,
  calendarDay,
  apiCall,
  copyButton,
  emptyState,
  facts,
  identifier,
  message,
  money,
  rawJson,
  steps,
  summaryStrip,
  table,
  time,
} from '../kit/parts.ts'
import { balancePlot, createPlot } from './balance-plot.ts'

/** Renders every component of the console. The page is for its developers, so its texts are English only. */
export function designPage(view: ConsoleView): string {
  return shell(view, {
    title: 'Design system',
    wide: true,
    main: html`<h1>Design system</h1>
      <p class="lead">Every component of the console in all its states.</p>
      ${part('Messages', messages(view))} ${part('Badges', badges())} ${part('Buttons', buttons(view))}
      ${part('Fields', fields(view))} ${part('Tables', tables(view))} ${part('Empty lists', emptyLists(view))}
      ${part('Lists', lists())} ${part('Plots', plots(view))} ${part('Filters and pages', filtersAndPages(view))}
      ${part('One thing', oneThing(view))} ${part('Dialogs', dialogs())}`,
  })
}

function part(title: string, body: Html): Html {
  const id = `part-${title.toLowerCase().replaceAll(' ', '-')}`
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${body}
  </section> `
}

const messages = (view: ConsoleView): Html =>
  html`${message('good', 'The invitation is on its way to joan@example.com.')}
  ${message('neutral', 'The report is being prepared.')} ${message('warning', 'This key expires in 3 days.')}
  ${message('bad', 'The last delivery failed.')}
  ${errorSummary(view, {
    'field-wrong': 'The password has fewer than 12 characters.',
    form: 'The team needs an Admin.',
  })}`

const badges = (): Html =>
  html`<p>
    ${badge('neutral', 'Pending')} ${badge('good', 'Accepted')} ${badge('warning', 'Expired')}
    ${badge('bad', 'Revoked')}
  </p>`

const buttons = (view: ConsoleView): Html =>
  html`<div class="buttons">
      <button type="button" class="primary">Approve payout</button>
      <button type="button">Export</button>
      <button type="button" class="danger">Revoke</button>
      <button type="button" class="primary danger">Remove from team</button>
      <button type="button" class="primary" disabled>Working</button>
      <a class="button" href="#main">A link</a>
    </div>
    <div class="buttons">
      <button type="button" class="small">Small</button>
      <button type="button" class="small danger">Small, dangerous</button>
      ${copyButton(view, 'DE89370400440532013000', 'IBAN')}
    </div>`

const fields = (view: ConsoleView): Html => {
  const admin = { value: 'Admin', label: 'Admin', help: 'Does everything, and manages the team.' }
  const operator = { value: 'Operator', label: 'Operator', help: 'Does the daily work with payments and customers.' }
  const problems = {
    wrong: 'The password has fewer than 12 characters.',
    'choice-wrong': 'Choose a role.',
  }
  return html`<form class="card">
    ${inputs(view, { values: {}, problems }, [
      { id: 'field-plain', name: 'plain', label: 'Full name' },
      {
        id: 'field-help',
        name: 'help',
        label: 'Code',
        help: '6 digits from your authenticator app.',
        more: html`class="code"`,
      },
      { id: 'field-wrong', name: 'wrong', label: 'Password', type: 'password', help: 'At least 12 characters.' },
      {
        id: 'field-fixed',
        name: 'fixed',
        label: 'Email',
        type: 'email',
        value: 'ada@example.com',
        more: html`readonly`,
      },
      { id: 'field-choice', name: 'choice', label: 'Role', value: 'Operator', choices: [admin, operator] },
      { id: 'field-choice-wrong', name: 'choice-wrong', label: 'Role, not chosen', choices: [admin] },
    ])}
    <button type="button" class="primary">Send invitation</button>
  </form>`
}

/** Plots that begin at zero and at the lowest amount, with constant and with negative amounts. */
const plots = (view: ConsoleView): Html => {
  const day = (index: number) => new Date(Date.UTC(2026, 9, 29 + index)).toISOString().slice(0, 10)
  const shapes: readonly (readonly [DailyBalances['currency'], (index: number) => number])[] = [
    ['EUR', (index) => (index < 9 ? 0 : 4_000_000 + ((index * 7919) % 17) * 150_000)],
    ['GBP', (index) => 98_000_000 + ((index * 104_729) % 23) * 90_000],
    ['USD', () => 125_000],
    ['USDC', (index) => 30_000_000 - index * 900_000],
  ]
  const drawn = shapes.flatMap(([currency, at]) => {
    const days = Array.from({ length: 30 }, (_day, index) => ({ day: day(index), available: BigInt(at(index)) }))
    return createPlot({ currency, days }) ?? []
  })
  return html`<div class="plots">${drawn.map((each) => balancePlot(view, each))}</div>`
}

const tables = (view: ConsoleView): Html =>
  table({
    caption: 'Payouts',
    columns: [['Payee', 'head'], 'Status', 'Created', 'Day', ['Amount', 'number'], ['Actions', 'actions']],
    rows: [
      ['Grace Hopper', badge('good', 'Completed'), '1,250.00'] as const,
      [
        `Wolfeschlegelsteinhausenbergerdorff ${'und Söhne '.repeat(10)}`,
        badge('bad', 'Failed'),
        '9,007,199,254,740,993.00',
      ] as const,
    ].map(([payee, status, amount], at) => [
      payee,
      status,
      time(view, new Date(Date.UTC(2026, 10, 24, 14, 30 + at))),
      calendarDay(view, '2026-11-24'),
      html`<span class="money main">${amount} <abbr>EUR</abbr></span>`,
      html`<div class="actions"><button type="button" class="small">Retry</button></div>`,
    ]),
  })

const emptyLists = (view: ConsoleView): Html =>
  html`<p class="calm">Nothing waits for you.</p>
    ${emptyState({
      title: 'No balance yet',
      text: 'Each currency that you hold gets a row here.',
      more: apiCall(view, 'POST /v1/customers/{id}/account', 'API call that opens an account'),
    })}`

const lists = (): Html =>
  html`<ul class="waiting">
      <li>
        <a href="#main"><span class="count">3</span> <span>Payouts wait for approval</span></a>
      </li>
      <li>
        <p><span class="count">10,000+</span> <span>Deliveries failed</span></p>
      </li>
    </ul>
    ${facts([
      ['Name', 'Ada Lovelace'],
      ['Role', 'Admin'],
    ])}
    <ol class="codes">
      <li><code>7K2M-9XQD-4TPA</code></li>
      <li><code>B3VN-6HRE-8WLC</code></li>
    </ol>`

function filtersAndPages(view: ConsoleView): Html {
  const options = [
    ['Pending', 'Pending'],
    ['Completed', 'Completed'],
  ] as const
  const tab = (text: string, current: boolean) => ({ text, href: 'design', current })
  const none = { title: 'No payout yet', text: 'Payouts that you make appear here.' }
  return html`${tabs({ label: 'Views', items: [tab('All payouts', true), tab('Waiting for me', false)] })}
  ${filterForm(
    view,
    { values: { status: 'Completed', wrong: 'Completed' }, problems: { wrong: 'The value is not accepted.' } },
    {
      path: 'design',
      filters: [
        { id: 'filter-status', name: 'status', label: 'Status', options },
        { id: 'filter-currency', name: 'currency', label: 'Currency' },
      ],
      more: [{ id: 'filter-wrong', name: 'wrong', label: 'Status', options }],
    },
  )}
  ${pager(view, { next: 'design', first: 'design' })}
  ${list(view, { table: html``, isEmpty: true, isFiltered: true, none, pages: { first: 'design' } })}
  ${list(view, { table: html``, isEmpty: true, isFiltered: false, none, pages: {} })}`
}

const oneThing = (view: ConsoleView): Html =>
  html`${summaryStrip([
    ['Amount', money(view, '1250.00', 'EUR', 'main')],
    ['Status', badge('warning', 'Waits for approval')],
    ['Account', account(view, 'DE89370400440532013000')],
  ])}
  ${facts([
    ['Payee', 'Grace Hopper'],
    ['Id', identifier(view, '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10', 'Id')],
    ['Absent', undefined],
  ])}
  ${steps(view, [
    { title: 'Created', at: new Date(Date.UTC(2026, 10, 24, 14, 30)), by: 'by your team' },
    {
      title: 'Failed',
      at: new Date(Date.UTC(2026, 10, 24, 14, 31)),
      by: 'by the bank',
      detail: 'AC04: Closed account',
    },
  ])}
  ${rawJson(view, { id: '019aa8c4', amount: 12.5 })}`

const dialogs = (): Html =>
  html`${dialogButton({ id: 'dialog-example', label: 'Remove', about: 'Ada Lovelace', tone: 'danger' })}
  ${confirmationDialog({
    id: 'dialog-example',
    title: 'Remove Ada Lovelace from the team?',
    action: 'design',
    effects: ['All sessions of this person end at once.', 'Invitations that the person sent stay valid.'],
    submit: 'Remove from team',
    cancel: 'Cancel',
  })}`
