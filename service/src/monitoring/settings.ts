/** The settings of reports to a financial intelligence unit, by goAML. */
import { refuseSetting, type Settings } from '../kernel/index.ts'

/** The codes of a report that each authority chooses, with what is written without a setting: `-` is goAML's "not known". */
const codesDefault = {
  ...{ report: 'STR', submission: 'E', transmode: '-', funds: '-', contact: '-', communication: '-', indicator: '-' },
  // Elements that only some authorities require. Empty: they are not written.
  ...{ branch: '', state: '', transmode_comment: '' },
}

export type FiuCodes = Readonly<Record<string, string>> & typeof codesDefault

function readCodes(value: string | undefined): FiuCodes {
  const given = (value ?? '').split(',').filter((part) => part.trim() !== '')
  const pairs = given.map((part) => {
    const [name = '', code = ''] = part.split('=').map((text) => text.trim())
    const isKnown = Object.hasOwn(codesDefault, name) || /^indicator\.[a-z_]+$/.test(name)
    if (isKnown && /^[\w -]{1,25}$/.test(code)) return [name, code] as const
    const names = [...Object.keys(codesDefault), 'indicator.KIND'].join(', ')
    return refuseSetting(`must be NAME=CODE with commas between; the names are ${names}`)
  })
  return { ...codesDefault, ...Object.fromEntries(pairs) }
}

/** Parts of a text between semicolons. Null: no text. */
const partsOf =
  (names: readonly string[]) =>
  (value: string | undefined): readonly string[] | null => {
    const parts = value?.split(';').map((part) => part.trim()) ?? null
    if (parts !== null && (parts.length !== names.length || parts.includes('')))
      refuseSetting(`must be ${names.join('; ')}`)
    return parts
  }

export const monitoringSettings = {
  FIU_ENTITY_ID: {
    default: 'none: no report can be written',
    description: 'The number under which the financial intelligence unit knows you (`rentity_id` of goAML)',
    read: (value: string | undefined): string | null =>
      value === undefined || /^[1-9]\d{0,8}$/.test(value) ? (value ?? null) : refuseSetting('must be a number'),
  },
  FIU_REPORTING_PERSON: {
    default: 'none',
    description: 'Who reports: first names and last name with a semicolon between, for example `Ada;Lovelace`',
    read: partsOf(['FIRST NAMES', 'LAST NAME']),
  },
  FIU_LOCATION: {
    default: 'none',
    description:
      'Where you are: street, city and country with semicolons between, for example `Main Street 1;Vilnius;LT`',
    read: partsOf(['STREET', 'CITY', 'COUNTRY']),
  },
  FIU_CODES: {
    default: 'report=STR,submission=E, and - for the others',
    description:
      'The codes of the lists that each authority has for goAML. `indicator.KIND` is the indicator of the rules of a kind, for example `indicator.structuring=STRC`. `branch`, `state` and `transmode_comment` are written only if they are given',
    read: readCodes,
  },
} as const satisfies Settings
