/**
 * Tests that every command accepts only the options of its declaration, and that documents and pages agree with the
 * declarations.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { accounts, payouts, recalls, verificationStates } from '@partner-payments/wire'
import { ConfigError } from '../../service/src/app/config.ts'
import { caseActions, possibleDispositions } from '../../service/src/cases/index.ts'
import { paymentOutcomes } from '../../service/src/banks/files/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { feeRails } from '../../service/src/payouts/controls/index.ts'
import { decidedKinds, staffRoles } from '../../service/src/people/staff/index.ts'
import type { OptionValues, CommandOption } from '../../service/src/operator/declaration.ts'
import {
  type CommandName,
  commandNames,
  getDeclaration,
  commandExamples,
  readHelp,
  isCommand,
  commandOptions,
  commandRoles,
} from '../../service/src/operator/declarations.ts'
import { formOptions, parseCommand, parseOptions } from '../../service/src/operator/parse.ts'
import { sections } from '../../service/src/pages/desk/partner-rules.ts'
import { countryActions, countrySides, allowedDispositions, hitOutcomes } from '../../service/src/screening/index.ts'
import { runOperator } from '../support/operator.ts'

const right: Readonly<Record<keyof OptionValues, string>> = {
  ...{ text: 'x', name: 'Ada Lovelace', email: 'ada@example.com', file: 'x.csv', id: newId() },
  ...{ flag: '', choice: '', choices: '' },
  ...{ time: '2026-03-01T12:00:00Z', moment: '2026-03-01', day: '2026-03-01', integer: '1', currency: 'EUR' },
  ...{ amount: '0.50', positive: '1000.00', iban: 'DE89 3704 0044 0532 0130 00', countries: 'IR,KP' },
  ...{ permissions: 'all', capabilities: 'Pay', balances: 'EUR=150.00', commands: 'bic load' },
}
const wrong: Readonly<Partial<Record<keyof OptionValues, readonly string[]>>> = {
  id: ['x', '1'],
  time: ['tomorrow', '2026-03-01', '2026-02-30T00:00:00Z', '2027-01-01T00:00:00'],
  moment: ['2026-02-30', 'now'],
  day: ['2026-02-29', '1 March', '2026-3-1'],
  integer: ['1.5', '-1', '1e1', '0x1', '99999999999', 'many'],
  currency: ['XXX', 'eur'],
  amount: ['1,00', '-1', '1.234', '1e3', '1234567890123'],
  positive: ['0.00', '-1', 'much'],
  iban: ['DE00', 'DE89370400440532013001'],
  countries: ['Iran', 'IR,'],
  permissions: ['pay', 'payouts:read,'],
  capabilities: ['Fly', 'none,Pay'],
  balances: ['EUR', 'EUR=1.234', 'EUR=1,EUR=2'],
  commands: ['partner expire', 'bic load,'],
  choice: ['x', ''],
  choices: ['x', 'payouts,x'],
}
const valueOf = ({ kind, choices }: CommandOption): string => choices?.[0] ?? right[kind]
const wordsOf = (name: string, option: CommandOption) =>
  option.kind === 'flag' ? [`--${name}`] : [`--${name}`, valueOf(option)]
/** Builds a call with the required options of the command. */
const needed = (command: CommandName): readonly string[] => [
  ...command.split(' '),
  ...Object.entries(getDeclaration(command).options).flatMap(([name, option]) =>
    option.optional || option.otherwise !== undefined ? [] : wordsOf(name, option),
  ),
]
function read(args: readonly string[]): object {
  const { command, typed } = parseCommand(args)
  return parseOptions(command, typed)
}
function refusalOf(args: readonly string[]): string {
  try {
    read(args)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.message
  }
  return assert.fail(`${args.join(' ')} is not refused`)
}

suite('the options of every command', () => {
  test('an option of another command is refused with a suggestion or the options of the command', () => {
    const known = new Map(commandNames.flatMap((command) => Object.entries(commandOptions(command))))
    let count = 0
    for (const command of commandNames) {
      const taken = commandOptions(command)
      for (const [name, option] of known) {
        if (Object.hasOwn(taken, name)) continue
        for (const words of [wordsOf(name, option), [`--${name}=x`]]) {
          const line = refusalOf([...needed(command), ...words])
          const said = new RegExp(
            `^operator: --${name} is not an option of ${command}; (?:did you mean --(?<meant>.+)\\?|it takes .+)$`,
          )
          const meant = said.exec(line)?.groups?.['meant']
          assert.match(line, said)
          assert.ok(meant === undefined || Object.hasOwn(taken, meant), line)
          count += 1
        }
      }
    }
    assert.ok(commandNames.length >= 98 && count > 10_000, `${count} calls`)
  })

  test('every option of a command is parsed, and is refused if repeated, empty or without its value', () => {
    for (const command of commandNames) {
      assert.doesNotThrow(() => read(needed(command)), command)
      for (const [name, option] of Object.entries(commandOptions(command))) {
        const call = needed(command)
        const given = call.includes(`--${name}`)
        const [flag = '', value = ''] = wordsOf(name, option)
        const before = given ? call.slice(0, call.indexOf(flag)) : call
        // An amount needs its currency.
        const money = command === 'payment find' && name === 'amount' ? ['--currency', 'EUR'] : []
        if (!given) assert.doesNotThrow(() => read([...call, ...wordsOf(name, option), ...money]), `${command} ${flag}`)
        assert.match(
          refusalOf([...call, ...wordsOf(name, option), ...wordsOf(name, option)]),
          new RegExp(`${flag} is given twice`),
        )
        if (option.kind === 'flag') {
          assert.match(refusalOf([...before, `${flag}=no`]), new RegExp(`${flag} takes no value: leave out "=no"$`))
          continue
        }
        assert.ok(value !== '')
        assert.match(refusalOf([...before, flag]), new RegExp(`^operator: ${flag} needs a value: ${flag} `))
        assert.match(refusalOf([...before, flag, '--x']), new RegExp(`^operator: ${flag} needs a value: ${flag} `))
        for (const empty of [[`${flag}=`], [flag, ''], [flag, ' ']])
          assert.match(refusalOf([...before, ...empty]), new RegExp(`^operator: ${flag} is empty`))
        if (given)
          assert.equal(refusalOf([...before, ...call.slice(call.indexOf(flag) + 2)]), `operator: ${flag} is required`)
      }
    }
  })

  test('both forms of an option mean the same, and a missing option has its default', () => {
    const partner = right.id
    const fee = `fee set --partner=${partner.toUpperCase()} --currency=USDC --fixed=0.000001 --from ${right.time}`
    const amounts = { currency: 'USDC', rail: 'any', fixed: 1n, 'basis-points': 0 }
    assert.deepEqual(read(fee.split(' ')), { partner, ...amounts, from: new Date(right.time) })
    const countries = ['screening', 'country', 'remove', '--countries', 'ir, KP,IR', '--for=deposits,payouts']
    const removal = { countries: ['IR', 'KP'], for: ['deposits', 'payouts'], staff: 'Ada L' }
    assert.deepEqual(read([...countries, '--staff', 'Ada  L']), removal)
    assert.deepEqual(read(['reconcile', '--at', '2026-03-01']), {
      at: new Date('2026-03-01T23:59:59.999Z'),
      format: 'json',
    })
    assert.deepEqual(read(['partner', 'create', '--name=a=b']), { name: 'a=b' })
  })

  test('a wrong value is refused with the option, the value and the allowed values', () => {
    let count = 0
    for (const command of commandNames)
      for (const [name, option] of Object.entries(getDeclaration(command).options)) {
        const call = needed(command)
        const at = call.indexOf(`--${name}`)
        const others = at === -1 ? call : call.toSpliced(at, 2)
        const money = command === 'payment find' && name === 'amount' ? ['--currency', 'EUR'] : []
        for (const value of wrong[option.kind]?.filter((each) => each !== '') ?? []) {
          const line = refusalOf([...others, ...money, `--${name}=${value}`])
          assert.match(line, new RegExp(`^operator: --${name} must be .+ \\(it is "`), line)
          assert.ok(line.endsWith(`(it is "${value}")`), line)
          count += 1
        }
        if (option.max !== undefined)
          for (const value of [(option.min ?? 0) - 1, option.max + 1])
            assert.match(
              refusalOf([...others, `--${name}=${value}`]),
              new RegExp(`--${name} must be from ${option.min} to ${option.max} `),
            )
      }
    assert.ok(count > 300, `${count} values`)
  })

  test('unknown words are refused, and a mistyped command or option gets a suggestion', () => {
    const refusals: readonly (readonly [words: string, line: RegExp])[] = [
      [
        `partner expire 2027-01-01 --partner ${right.id}`,
        /^operator: partner expire takes no argument "2027-01-01": it takes --partner, --at, --yes/,
      ],
      [`partner expire --partner ${right.id} now`, /^operator: partner expire takes no argument "now"/],
      ['case list -v', /^operator: case list takes no argument "-v": it takes no options$/],
      ['case list --', /^operator: case list takes no argument "--"/],
      [
        'partner expire --until 2027-01-01T00:00:00Z',
        /^operator: --until is not an option of partner expire; did you mean --at\?$/,
      ],
      [
        'partner rotate --at 2027-01-01T00:00:00Z',
        /^operator: --at is not an option of partner rotate; it takes --partner, --overlap-hours,/,
      ],
      ['fee set --customer C', /^operator: --customer is not an option of fee set; it takes --partner, --currency,/],
      ['ibans import --from x.csv', /^operator: --from is not an option of ibans import; did you mean --file\?$/],
      ['fee set --curency EUR', /^operator: --curency is not an option of fee set; did you mean --currency\?$/],
      ['case list --__proto__ x', /^operator: --__proto__ is not an option of case list; it takes no options$/],
      ['case lst', /^operator: no command case lst; did you mean case list\?$/],
      ['payment fnid', /^operator: no command payment fnid; did you mean payment find\?$/],
      ['bank recall lettr', /^operator: no command bank recall lettr; did you mean bank recall letter\?$/],
      ['--partner x case list', /^operator commands \(.+\):\n {2}operator sign-in /],
      ['constructor', /^operator commands /],
    ]
    for (const [words, line] of refusals) assert.match(refusalOf(words.split(' ')), line, words)
    assert.match(refusalOf([]), /^operator commands /)
  })

  test('a refused call neither opens nor creates a database', async () => {
    const DATA_DIR = join(tmpdir(), `untouched-${newId()}`)
    for (const words of [
      'partner create --nome x',
      'backup create --from x',
      'safeguarding verify --from x --day 2026-03-01',
    ]) {
      const { code, stdout, stderr } = await runOperator(words.split(' '), { DATA_DIR })
      assert.deepEqual([code, stdout, stderr.split('\n').length], [1, '', 2], stderr)
    }
    assert.equal(existsSync(DATA_DIR), false)
  })
})

suite('output generated from declarations', () => {
  test('--help shows all commands, the commands of a group, or one command with its options, roles and examples', () => {
    assert.equal(readHelp(['case', 'list']), undefined)
    const linesOf = (...args: readonly string[]) => (readHelp(args) ?? '').split('\n')
    for (const flag of ['--help', '-h']) assert.equal(linesOf(flag).length, commandNames.length + 1)
    assert.deepEqual(linesOf('no', 'such', '--help'), linesOf('--help'))
    assert.deepEqual(
      linesOf('backup', '--help')
        .slice(1)
        .map((line) => line.slice(0, 17)),
      ['  operator backup', '  operator backup'].map((line) => `${line} `.slice(0, 17)),
    )
    for (const command of commandNames) {
      const help = readHelp([...command.split(' '), '--help']) ?? ''
      for (const name of Object.keys(commandOptions(command)))
        assert.ok(help.includes(`\n  --${name}`), `${command} --${name}`)
      for (const role of commandRoles(command) ?? []) assert.ok(help.includes(role), `${command}: ${role}`)
      for (const example of commandExamples(command)) assert.ok(help.includes(example), example)
    }
  })

  test('bash completes a command, an unused option, and a value', async () => {
    const { stdout: completion } = await runOperator(['completion', 'bash'], {})
    const completed = (...words: readonly string[]): readonly string[] => {
      const last = '_operator; printf "%s\\n" "${COMPREPLY[@]}"'
      const script = `${completion}\nCOMP_WORDS=(operator "$@"); COMP_CWORD=$#; ${last}`
      const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], { encoding: 'utf8' })
      assert.equal(stderr, '')
      return stdout.split('\n').filter((line) => line !== '')
    }
    assert.deepEqual(completed('scr'), ['screening'])
    assert.deepEqual(completed('screening', 'country', 'r'), ['remove'])
    assert.deepEqual(completed('limit', 'set', '--scope', 'partner', '--sc'), [])
    assert.deepEqual(completed('limit', 'set', '--scope', 'partner', '--cu'), ['--currency', '--customer'])
    for (const words of [['--scope'], ['--scope', '=']])
      assert.deepEqual(completed('limit', 'set', ...words, 'p'), ['partner'])
    assert.deepEqual(completed('screening', 'country', 'set', '--for', 'payouts,d'), ['payouts,deposits'])
    assert.deepEqual(completed('case', 'propose', '--note', ''), [])
    for (const command of commandNames)
      for (const name of Object.keys(commandOptions(command)))
        assert.ok(completion.includes(`'${command}'`) && completion.includes(`--${name}`), `${command} --${name}`)
  })

  test('the page of commands has each command with its options, and needs no settings', async () => {
    const { code, stdout } = await runOperator(['commands', '--markdown'], { MODE: 'production' })
    assert.equal(code, 0)
    for (const command of commandNames) {
      const section = stdout.split(`\n## ${command}\n`)[1]?.split('\n## ')[0] ?? ''
      for (const name of Object.keys(commandOptions(command)))
        assert.ok(section.includes(`\`--${name}\``), `${command} ${name}`)
    }
    assert.equal((await runOperator(['commands'], {})).stdout, `${readHelp(['--help'])}\n`)
  })

  test('each text is a sentence, and each example is a call of its command', () => {
    for (const command of commandNames) {
      assert.match(getDeclaration(command).summary, /^[A-Z].+\.$/, command)
      for (const [name, option] of Object.entries(commandOptions(command)))
        assert.match(option.text, /^[A-Z`].+\.$/, `${command} --${name}`)
      for (const example of commandExamples(command)) assert.doesNotThrow(() => read(wordsIn(example)), example)
    }
  })

  test('the choices of an option match those of the code', () => {
    const lists: Readonly<Record<string, readonly string[]>> = {
      'case propose action': caseActions,
      'case propose disposition': [...new Set(caseActions.flatMap(possibleDispositions))],
      ...{
        'decider set kind': decidedKinds,
        'payment end outcome': paymentOutcomes,
        'bank recall reason': recalls.recallReasons,
      },
      ...{ 'payment recall reason': recalls.recallReasons, 'account block reason': accounts.stateReasons },
      ...{
        'limit set scope': payouts.limitScopes,
        'limit set period': payouts.limitPeriods,
        'limit set state': verificationStates,
      },
      ...{ 'gate set state': verificationStates, 'fee set rail': feeRails, 'staff invite role': staffRoles },
      ...{ 'staff role role': staffRoles, 'screening decide outcome': hitOutcomes },
      'screening decide disposition': (['un', 'countries'] as const).flatMap((source) =>
        hitOutcomes.flatMap((outcome) => allowedDispositions(source, outcome)),
      ),
      ...{ 'screening country set for': countrySides, 'screening country set action': countryActions },
      ...{ 'review set risk': ['low', 'medium', 'high'], 'segregation set mode': ['segregated', 'pooled'] },
      ...{ 'reconcile format': ['json', 'csv'], 'ledger statement format': ['table', 'csv'] },
      'account block direction': ['both', 'inbound', 'outbound'],
    }
    for (const [words, list] of Object.entries(lists)) {
      const [, command = '', name = ''] = /^(.+) (\S+)$/.exec(words) ?? []
      assert.ok(isCommand(command))
      assert.deepEqual(commandOptions(command)[name]?.choices, list, words)
    }
  })

  test('numbers are limited to these bounds, and only these amounts exclude zero', () => {
    const bounds = Object.fromEntries(
      commandNames.flatMap((command) =>
        Object.entries(commandOptions(command)).flatMap(([name, { kind, min, max }]) =>
          kind === 'integer' || kind === 'positive'
            ? [[`${command} ${name}`, kind === 'integer' ? [min, max] : kind]]
            : [],
        ),
      ),
    )
    const version = [1, 999_999_999]
    assert.deepEqual(bounds, {
      ...{ 'staff token create days': [1, 366], 'impersonate minutes': [1, 60], 'review set months': [1, 120] },
      ...{ 'partner rotate overlap-hours': [0, 2160], 'service-account rotate overlap-hours': [0, 2160] },
      ...{ 'limit set amount': 'positive', 'approval set per-person': 'positive' },
      ...{ 'approval set beneficiary-hours': [1, 8760], 'approval set expires-hours': [1, 720] },
      ...{ 'cooling-off set hours': [1, 8760], 'fee set basis-points': [0, 10_000], 'payer-data set days': [1, 90] },
      ...{ 'screening report names': [1, 1000], 'screening report seed': [1, 1_000_000] },
      ...{ 'monitoring rule set version': version, 'monitoring backtest start version': version },
      ...{ 'monitoring rule on version': version, 'monitoring rule off version': version },
      'monitoring numbers months': [1, 24],
    })
  })

  test('a desk form asks for all input of its command except a file, a note and the person', () => {
    for (const command of commandNames) {
      const asked = new Set(['note', 'staff', ...formOptions(command).map(({ name }) => name)])
      for (const [name, option] of Object.entries(getDeclaration(command).options)) {
        assert.equal(asked.has(name), option.kind !== 'file', `${command} --${name}`)
        const values = formOptions(command).find((each) => each.name === name)?.values ?? []
        for (const value of option.kind === 'choice' ? values : [])
          assert.ok(option.choices?.includes(value), `${command} --${name}`)
      }
    }
    for (const { list, changes, removal } of sections) {
      assert.ok(isCommand(list) && commandRoles(list) === undefined, list)
      for (const command of changes) assert.ok(isCommand(command) && commandRoles(command) !== undefined, command)
      assert.ok(
        removal === undefined || (isCommand(removal.command) && removal.option in commandOptions(removal.command)),
      )
    }
  })

  test('each call in the documents and at the desk is accepted by its command', async () => {
    const root = new URL('../../', import.meta.url)
    const files = await Promise.all(
      ['docs', 'service/src/pages/desk'].map(async (folder) =>
        (await readdir(new URL(folder, root), { recursive: true })).flatMap((name) =>
          /\.(md|ts)$/.test(name) && !/decisions\/|generated\//.test(name) ? [`${folder}/${name}`] : [],
        ),
      ),
    )
    let count = 0
    for (const file of files.flat()) {
      const text = (await readFile(new URL(file, root), 'utf8')).replaceAll('\\\n', ' ')
      const calls = [
        ...text.matchAll(/npm run (?:-s )?operator -- (?<words>[^\n`|>)]+)/g),
        ...(file.endsWith('.md') ? text.matchAll(/(?:^|`)operator (?<words>[a-z][^\n`|>)]+)/gm) : []),
      ]
      for (const { groups: call } of calls) {
        const typed = (call?.['words'] ?? '')
          .replace(/(?: {2,}|\s)#.*$/, '')
          .replace(/',.*$/, '')
          .trim()
        if (typed === '--help') continue
        const words = wordsIn(`operator ${typed}`)
        const { command } = parseCommand(words)
        if (words.length > command.split(' ').length && !/`/.test(typed))
          assert.doesNotThrow(() => parseCommand(words), `${file}: ${typed}`)
        count += 1
      }
    }
    assert.ok(count > 120, `${count} calls`)
  })
})

/** The words of a call in a document: quotes group words, and a word in capitals stands for a value. */
const wordsIn = (line: string): readonly string[] =>
  [...line.replace(/^operator /, '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare = '']) =>
    /^(?:ID|\$.*)$/.test(bare) ? right.id : (double ?? single ?? bare),
  )
