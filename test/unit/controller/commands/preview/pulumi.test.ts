import { expect, it } from "vitest";
import { refusalOf } from "../../../../../controller/commands/preview/pulumi.ts";

it.each([
  ["preview"],
  ["preview --diff --policy-pack ./p"],
  ["stack"],
  ["stack --show-urns"],
  ["stack output --json"],
  ["stack export"],
  ["refresh --preview-only"],
  ["refresh --diff --preview-only"],
  ["about"],
  [""],
])("lets a command pass that reads: pulumi %s", (line) => {
  expect(refusalOf(line.split(" ").filter(Boolean))).toBeUndefined();
});

it.each([
  ["up --yes", "`lotse run` makes changes"],
  ["update", "`lotse run` makes changes"],
  ["watch", "`lotse run` makes changes"],
  ["destroy", "`lotse destroy` deletes"],
  ["import", "`lotse adopt` reports"],
  ["state delete x", "change the Service, or the cloud"],
  ["cancel", "there is nothing to cancel"],
  ["refresh --yes", "`lotse pulumi refresh --preview-only`"],
  ["refresh --preview-only=false", "`lotse pulumi refresh --preview-only`"],
  ["refresh --preview-only --preview-only=false", "`lotse pulumi refresh --preview-only`"],
  ["stack rm", "pulumi stack rm is refused"],
  ["stack --show-urns rm --yes", "put its subcommand before its flags"],
  ["stack -s x import", "put its subcommand before its flags"],
  ["stack import", "`lotse stack export` prints the saved one"],
  ["new", "only read-only commands"],
  ["-C dir up", "put the command before its flags"],
])("refuses a command that changes something: pulumi %s", (line, words) => {
  expect(refusalOf(line.split(" "))).toContain(words);
});
