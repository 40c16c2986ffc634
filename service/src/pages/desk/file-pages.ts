/** The files of banks, and one file with what was read from it. No page shows a name or an account of a customer or a payee. */
import { type BankFile, type BankFileFacts, bankFileFilters } from '../../rails/index.ts'
import { badge, call, empty, facts, freeText, identifier, message, strip, table, time } from '../kit/parts.ts'
import { field, hiddenField, select } from '../kit/forms.ts'
import { filters, pager } from '../kit/lists.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { contents, type FileShown } from './file-contents.ts'
import { fileTexts } from './file-texts.ts'

const tones = {
  Taking: 'neutral',
  Taken: 'good',
  Repeated: 'neutral',
  Aside: 'bad',
  Released: 'good',
  Made: 'warning',
  Staged: 'warning',
  Delivered: 'good',
} as const

/** `mayTake`: the role of the person may propose to take a file. `typed`: values of a refused form. */
type Taking = {
  readonly mayTake: boolean
  readonly waits?: boolean
  readonly error?: string | undefined
  readonly typed: (name: string) => string
}

type FilesShown = {
  readonly files: readonly BankFile[]
  readonly banks: readonly string[]
  readonly bank: string | undefined
  readonly show: (typeof bankFileFilters)[number]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function filesPage(view: ConsoleView, { files, banks, bank, show, next, first }: FilesShown): string {
  const d = fileTexts[view.language]
  const shown = bankFileFilters.map((each) => [each, d[each]] as const)
  return shell(view, {
    title: d.files,
    wide: true,
    main: html`<h1>${d.files}</h1>
      <p class="lead">${d.filesText}</p>
      ${filters(view, {
        path: `${view.root}files`,
        main: [
          select({ id: 'show', name: 'show', label: d.show, value: show, options: shown }),
          select({
            ...{ id: 'bank', name: 'bank', label: d.bank, value: bank, any: d.allBanks },
            options: banks.map((each) => [each, each] as const),
          }),
        ],
        active: bank !== undefined || show !== 'all',
      })}
      ${
        files.length === 0
          ? empty({
              title: d.none,
              text: d.noneText,
              more: call(view, 'npm run -s operator -- bank files', d.noneCall),
            })
          : filesTable(view, files)
      }
      ${pager(view, { next, first })}`,
  })
}

function filesTable(view: ConsoleView, files: readonly BankFile[]): Html {
  const d = fileTexts[view.language]
  return table({
    caption: d.files,
    columns: [[d.name, 'head'], d.state, d.kind, d.at, d.direction, d.bank, d.reason],
    rows: files.map(({ id, name, state, kind, at, direction, connector, problem }) => [
      html`<a href="${view.root}files/${id}">${freeText(name)}</a>`,
      badge(tones[state], d[state]),
      kind ?? d.unknownKind,
      time(view, at),
      direction === 'sent' ? d.toBank : d.fromBank,
      connector,
      freeText(problem ?? ''),
    ]),
  })
}

/** Kinds of cases whose file two persons may take. */
const canBeTaken: ReadonlySet<string> = new Set(['message_differs', 'sum_differs', 'file_unreadable'])

export function filePage(view: ConsoleView, shown: FileShown & Taking): string {
  const d = fileTexts[view.language]
  const { file, cases, next, first, error, waits = false } = shown
  const state = file.state === 'Aside' && file.releasedAt !== null ? 'Released' : file.state
  const found = cases.get(file.id)
  return shell(view, {
    title: `${d.name} ${file.name}`,
    wide: true,
    problems: { form: error },
    main: html`<h1>${freeText(file.name)}</h1>
      ${waits && message('good', d.takeWaits)}
      ${strip([
        [d.state, badge(tones[state], d[state])],
        [d.kind, file.kind ?? d.unknownKind],
        [d.direction, file.direction === 'sent' ? d.toBank : d.fromBank],
        [d.bank, freeText(file.connector)],
      ])}
      ${message(tones[state], d[`${state}Text`])}
      ${
        file.state === 'Aside' &&
        file.problem !== null &&
        html`<h2>${d.reason}</h2>
          <p>${freeText(file.problem)}</p>`
      }
      ${
        found !== undefined &&
        html`<div class="buttons">
            <a class="button" href="${view.root}cases/${found.partnerId}/${found.id}">${d.openCase}: ${found.kind}</a>
          </div>
          ${canBeTaken.has(found.kind) && file.messageId !== null && takeForm(view, { ...shown, caseId: found.id })}`
      }
      ${factsOf(view, file)} ${contents(view, shown)} ${pager(view, { next, first })}`,
  })
}

function takeForm(
  view: ConsoleView,
  { file, caseId, mayTake, typed }: FileShown & Taking & { readonly caseId: string },
): Html {
  const d = fileTexts[view.language]
  if (!mayTake) return message('neutral', d.takeReadOnly)
  return html`<h2>${d.take}</h2>
    <form method="post" action="${view.root}files/${file.id}/take">
      ${hiddenField('case', caseId)}
      ${field({ id: 'note', name: 'note', label: d.takeNote, help: d.takeText, value: typed('note'), more: html`maxlength="500"` })}
      <button type="submit">${d.takePropose}</button>
    </form>`
}

function factsOf(view: ConsoleView, file: BankFileFacts): Html {
  const d = fileTexts[view.language]
  const { messageId, at, endedAt, releasedAt, bytes, sha256, sent, problem, state } = file
  const ended = endedAt === null ? undefined : time(view, endedAt, 'seconds')
  return facts([
    [d.messageId, messageId === null ? undefined : identifier(view, messageId, d.messageId)],
    [sent === null ? d.receivedAt : d.madeAt, time(view, at, 'seconds')],
    [sent === null ? d.takenAt : d.deliveredAt, ended],
    [d.releasedAt, releasedAt === null ? undefined : time(view, releasedAt, 'seconds')],
    [d.bytes, String(bytes)],
    [d.digest, identifier(view, sha256, d.digest)],
    ...(sent === null
      ? []
      : ([
          [d.payments, String(sent.payments)],
          [d.controlSum, sent.controlSum],
          [d.attempts, String(sent.attempts)],
          [d.bankStatus, freeText(sent.bankStatus ?? d.noAnswer)],
        ] as const)),
    [d.problem, state === 'Aside' || problem === null ? undefined : freeText(problem)],
  ])
}
