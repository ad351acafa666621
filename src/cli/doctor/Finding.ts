import { type Problem, problemWithPlace } from "../../config/yaml/ConfigError.ts"
import type { Found } from "../../http/HealthFacts.ts"

/** Subjects that `doctor` examines, in the order in which it prints them. */
export const doctorChecks = [
  "chain",
  "gateway",
  "clock",
  "assets",
  "work",
  "keys",
  "permissions",
  "disk",
  "port",
  "wire_form",
  "receivers",
  "daemon",
] as const
type DoctorCheck = (typeof doctorChecks)[number]

/** Result of one check. `bad` prevents payments or alerts, `warn` may. */
export interface DoctorFinding {
  readonly check: DoctorCheck
  readonly severity: "ok" | "warn" | "bad"
  readonly text: string
  /** The fix; null where nothing is wrong. */
  readonly remedy: string | null
}

export const healthy = (check: DoctorCheck, text: string): DoctorFinding => ({
  check,
  severity: "ok",
  text,
  remedy: null,
})

export const warn = (check: DoctorCheck, text: string, remedy: string): DoctorFinding => ({
  check,
  severity: "warn",
  text,
  remedy,
})

export const bad = (check: DoctorCheck, text: string, remedy: string): DoctorFinding => ({
  check,
  severity: "bad",
  text,
  remedy,
})

/** A condition that holds, as a finding. */
export const found = (check: DoctorCheck, condition: Found | undefined): DoctorFinding | undefined =>
  condition === undefined
    ? undefined
    : { check, severity: condition.severity, text: condition.text, remedy: condition.remedy }

/** Problems of files, as findings. */
export const problemsAs = (
  check: DoctorCheck,
  severity: "warn" | "bad",
  problems: ReadonlyArray<Problem>,
): ReadonlyArray<DoctorFinding> =>
  problems.map((problem) => ({
    check,
    severity,
    text: problemWithPlace(problem),
    remedy: problem.remedy,
  }))
