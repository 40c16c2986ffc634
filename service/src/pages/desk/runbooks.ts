/** The runbooks as the desk reads them, and links to them. */
import { html, type Html } from '../html.ts'
import type { ConsoleView } from '../kit/frame.ts'

export type Runbooks = {
  /** `name`: as `bank-files` or `alerts/PaymentsCaseOpen`. Undefined: there is none. */
  readonly find: (name: string) => Promise<{ readonly title: string; readonly body: Html } | undefined>
}

/** A link to a runbook by its name. */
export const runbookLink = ({ root }: ConsoleView, name: string): Html =>
  html`<a href="${root}runbooks/${name}">${name.replace('alerts/', '')}</a>`
