/** Wallets: the list, the form that opens one, and the page of one with the address for payers. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { call, field, hiddenField, message, time } from './components.ts'
import type { CustomerLink } from './customer-link.ts'
import { facts, identifier, money, type Options, select, strip, whole } from './lists.ts'
import { linkOf, type Problems, type Values } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { walletTexts } from './texts/wallets.ts'
import { type ConsoleView, shell } from './view.ts'

export const walletFields = ['currency', 'customerId'] as const

export type WalletRow = {
  readonly id: string
  readonly address: string
  readonly currency: string
  readonly network: string
  readonly chainId: number
  /** Absent: the wallet is the partner's own. */
  readonly customer?: CustomerLink | undefined
  readonly received: string
  readonly createdAt: Date
}

const walletCall = `POST /v1/wallets
{ "customerId": "…", "currency": "USDC" }`

type Wallets = Listed<WalletRow> & { readonly tokens: readonly string[]; readonly mayWrite: boolean }

const optionsOfTokens = (tokens: readonly string[]): Options => tokens.map((token) => [token, token] as const)

export function walletsPage(view: ConsoleView, { rows, tokens, mayWrite, ...shown }: Wallets): string {
  const w = walletTexts[view.language]
  const p = paymentTexts[view.language]
  return listPage(view, shown, {
    title: view.t.wallets,
    path: 'wallets',
    lead: w.lead,
    create: mayWrite && { text: w.newWallet, href: linkOf(`${view.root}wallets/new`, shown.values) },
    filters: [
      { name: 'currency', label: w.token, options: optionsOfTokens(tokens) },
      { name: 'customerId', label: p.customerId },
    ],
    columns: [[w.address, 'head'], w.owner, w.token, w.chain, p.created, [w.received, 'number']],
    cells: rows.map(({ id, address, currency, network, customer, received, createdAt }) => [
      html`<a href="${view.root}wallets/${id}"><code class="account">${address}</code></a>`,
      owner(view, customer),
      currency,
      network,
      time(view, createdAt, 'date'),
      money(view, received, currency),
    ]),
    none: { title: w.empty, text: w.emptyText, more: call(view, walletCall, w.call) },
  })
}

function owner(view: ConsoleView, customer: CustomerLink | undefined): Html | string {
  if (customer === undefined) return walletTexts[view.language].own
  const { name, href } = customer
  return href === undefined ? html`<span class="free">${name}</span>` : html`<a class="free" href="${href}">${name}</a>`
}

type NewWallet = {
  readonly tokens: readonly string[]
  /** Values as typed. */
  readonly values: Values
  readonly idempotencyKey: string
  readonly problems: Problems
}

export function newWalletPage(view: ConsoleView, { tokens, values, idempotencyKey, problems }: NewWallet): string {
  const w = walletTexts[view.language]
  const p = paymentTexts[view.language]
  return shell(view, {
    title: w.newWallet,
    problems,
    card: true,
    main: html`<h1>${w.newWallet}</h1>
      <p class="lead">${w.newText}</p>
      <form method="post" action="${view.root}wallets/new">
        ${hiddenField('idempotencyKey', idempotencyKey)}
        ${select({
          ...{ id: 'currency', name: 'currency', label: w.token, value: values['currency'] },
          ...{ options: optionsOfTokens(tokens), error: problems['currency'] },
        })}
        ${field({
          ...{ id: 'customerId', name: 'customerId', help: w.customerHelp, error: problems['customerId'] },
          ...{ value: values['customerId'] ?? '', optional: true },
          label: fill(p.optional, { label: p.customer }),
          more: html`autocomplete="off" maxlength="36"`,
        })}
        <button type="submit" class="primary">${w.open}</button>
      </form>
      <p class="foot"><a href="${view.root}wallets">${p.back}</a></p>`,
  })
}

type Wallet = WalletRow & {
  /** Absent: the person may not read transactions. */
  readonly depositsHref?: string | undefined
  /** Absent: the service is not a sandbox, or the person may not simulate. */
  readonly simulateHref?: string | undefined
  /** True if the form was just sent. */
  readonly isNew: boolean
}

export function walletPage(view: ConsoleView, wallet: Wallet): string {
  const w = walletTexts[view.language]
  const p = paymentTexts[view.language]
  const { id, currency, network, chainId, customer, received, createdAt, isNew, depositsHref, simulateHref } = wallet
  const title = fill(w.wallet, { currency })
  return shell(view, {
    title,
    main: html`${isNew && message('good', w.created)}
      <div class="heading">
        <h1>${title}</h1>
        <div class="buttons">
          ${simulateHref !== undefined && html`<a class="button" href="${simulateHref}">${w.simulate}</a>`}
          ${depositsHref !== undefined && html`<a class="button" href="${depositsHref}">${fill(w.deposits, { currency })}</a>`}
        </div>
      </div>
      ${strip([
        [w.received, money(view, received, currency, 'main')],
        [w.token, currency],
        [w.chain, html`${network} <span class="soft">${fill(w.chainId, { id: String(chainId) })}</span>`],
      ])}
      ${addressPart(view, wallet)}
      ${facts([
        [w.owner, owner(view, customer)],
        [p.created, time(view, createdAt)],
        [p.id, identifier(view, id, p.id)],
      ])}
      <p class="foot"><a href="${view.root}wallets">${p.back}</a></p>`,
  })
}

function addressPart(view: ConsoleView, { address, currency, network, chainId }: Wallet): Html {
  const w = walletTexts[view.language]
  return html`<section class="card" aria-labelledby="address-title">
    <h2 id="address-title">${w.addressTitle}</h2>
    <p class="to">${whole(view, address, w.address)}</p>
    <p class="message warning">${fill(w.warning, { currency, network, id: String(chainId) })}</p>
    <p>${w.compare}</p>
  </section>`
}
