/** The simulations of the sandbox, and the form of one. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { field, hiddenField, message, table } from './components.ts'
import { facts, identifier, select } from './lists.ts'
import { linkOf, type Problems, type Values } from './payments-request.ts'
import { simulated, type SimulatedField, simulationNames } from './simulations.ts'
import { paymentTexts } from './texts/payments.ts'
import { type SimulationName, simulationTexts } from './texts/simulations.ts'
import { type ConsoleView, shell } from './view.ts'

export function simulationsPage(view: ConsoleView): string {
  const s = simulationTexts[view.language]
  return shell(view, {
    title: view.t.simulations,
    wide: true,
    main: html`<h1>${view.t.simulations}</h1>
      <p class="lead">${s.lead}</p>
      ${table({
        caption: view.t.simulations,
        columns: [[s.simulation, 'head'], s.effect],
        rows: simulationNames.map((name) => [
          html`<a href="${view.root}simulations/${name}">${s.names[name]}</a>`,
          s.effects[name],
        ]),
      })}`,
  })
}

type Form = {
  readonly name: SimulationName
  readonly values: Values
  readonly problems: Problems
  readonly idempotencyKey: string
  /** Names the thing that was just simulated. */
  readonly result?: string | undefined
  readonly may: { readonly transactions: boolean; readonly events: boolean }
}

export function simulationPage(view: ConsoleView, form: Form): string {
  const s = simulationTexts[view.language]
  const { name, problems, idempotencyKey, result } = form
  return shell(view, {
    title: s.names[name],
    problems,
    main: html`${result !== undefined && resultPart(view, form, result)}
      <div class="card">
        <h1>${s.names[name]}</h1>
        <p class="lead">${s.effects[name]}</p>
        <form method="post" action="${view.root}simulations/${name}">
          ${hiddenField('idempotencyKey', idempotencyKey)}
          ${simulated[name].fields.map((each) => input(view, form, each))}
          <button type="submit" class="primary">${s.run}</button>
        </form>
        <p class="foot"><a href="${view.root}simulations">${s.back}</a></p>
      </div>`,
  })
}

function input(
  view: ConsoleView,
  { values, problems }: Form,
  { name, kind, options, optional, value }: SimulatedField,
) {
  const s = simulationTexts[view.language]
  const p = paymentTexts[view.language]
  const label = optional === true ? fill(p.optional, { label: s.fields[name] }) : s.fields[name]
  const helps: Readonly<Record<string, string>> = s.helps
  const help = helps[name]
  const shared = { id: name, name, label, value: values[name] ?? value ?? '', error: problems[name] }
  if (options !== undefined) {
    const words: Readonly<Record<string, string>> = { ...s.outcomes, ...s.steps, ...s.staleness }
    const named = options.map((each) => [each, words[each] ?? each] as const)
    return select({ ...shared, options: named, ...(optional === true ? { any: p.any } : {}) })
  }
  const mode = kind === 'amount' ? html`inputmode="decimal"` : kind === 'count' ? html`inputmode="numeric"` : html``
  return field({
    ...shared,
    ...(help === undefined ? {} : { help }),
    optional: optional ?? false,
    more: html`autocomplete="off" maxlength="140" ${mode}`,
  })
}

function resultPart(view: ConsoleView, { name, may }: Form, result: string): Html {
  const s = simulationTexts[view.language]
  const shown = simulated[name].result?.page
  const link = (href: string, text: string) => html`<p><a class="button" href="${href}">${text}</a></p>`
  return html`${message('good', s.done)}
  ${simulated[name].result !== undefined && facts([[s.result, identifier(view, result, s.result)]])}
  ${
    shown === 'transaction' &&
    may.transactions &&
    link(`${view.root}transactions/${encodeURIComponent(result)}`, s.toTransaction)
  }
  ${shown === 'events' && may.events && link(linkOf(`${view.root}events`, { reference: result }), s.toEvents)}
  ${shown === 'reversal' && link(linkOf(`${view.root}simulations/reversal`, { creditId: result }), s.toReversal)}`
}
