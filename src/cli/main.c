/* SPDX-License-Identifier: Apache-2.0
 *
 * The program. */
int main(void)
{
    return 0;
}
